package doctor

// Severity is how bad a [Finding] is.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // a job is lost, stuck, or may run twice; or Redis is not fit for it
	SeverityWarning Severity = "warning" // contradicts itself, but costs no job
	SeverityInfo    Severity = "info"    // may be what is wanted
)

// Check is one of the things that the doctor looks at.
type Check string

// The checks. docs/doctor.md explains each.
const (
	CheckServer        Check = "server"          // is the Redis fit for it
	CheckKeyType       Check = "key-type"        // has each key the type that it should have
	CheckSetAside      Check = "set-aside"       // did a repair leave keys of a wrong type under another name
	CheckUnknownKey    Check = "unknown-key"     // are there keys that this version does not know
	CheckLostJob       Check = "lost-job"        // is each job in a place
	CheckGhost         Check = "ghost"           // has each id in a place a record
	CheckTwoPlaces     Check = "two-places"      // is no job in two places
	CheckTwice         Check = "twice-in-queue"  // does no id stand in queues twice
	CheckLeftover      Check = "leftover"        // is nothing kept of jobs that are gone
	CheckName          Check = "shelf-name"      // has each job on a shelf the name of its queue, and the reverse
	CheckRecord        Check = "record"          // can each record be read
	CheckWrongQueue    Check = "wrong-queue"     // is each job in the queue that its record names
	CheckClaim         Check = "claim"           // has each claim its element
	CheckElement       Check = "element"         // has each element its claim
	CheckForgotten     Check = "forgotten-claim" // does each worker hold what it claims
	CheckSilent        Check = "silent-worker"   // says each worker what it holds
	CheckUnknownWorker Check = "unknown-worker"  // belongs all of workers to workers that are known
	CheckDeadWorker    Check = "dead-worker"     // is each worker alive or being reaped
	CheckDeafWorker    Check = "deaf-worker"     // knows Redis what each worker serves
	CheckHungWorker    Check = "hung-worker"     // has each worker a processor that can begin a job
	CheckRights        Check = "rights"          // may each worker do what it needs
	CheckEndless       Check = "endless"         // do heartbeats and the lease lapse by themselves
	CheckReady         Check = "ready"           // does the set of ready queues agree with the queues
	CheckKeyPlace      Check = "key-place"       // do the places of keys go to those that wait for them
	CheckToken         Check = "token"           // are workers called where jobs wait
	CheckQueueName     Check = "queue-name"      // is each queue with jobs in the list of queues
	CheckUnserved      Check = "unserved"        // serves somebody each queue with jobs
	// has each outcome the time until which it is kept, and each ended job what is kept of it
	CheckOutcome Check = "outcome"
	CheckLane    Check = "lane"   // are old lanes removed
	CheckMorgue  Check = "morgue" // is the morgue within its limit

	CheckMap   Check = "map"            // has each partition the newest map
	CheckHome  Check = "elsewhere"      // does each job that is bound live where it belongs
	CheckTwins Check = "two-partitions" // is no job in two partitions

	CheckFlow         Check = "flow"          // does each flow go on
	CheckFlowLeftover Check = "flow-leftover" // belongs all that is kept of flows to one, and is each sealed

	CheckReplicas Check = "replicas" // do the replicas follow, and are they of use in a failover
)

// checks say what a finding means for a job, and what to do if the doctor does not mend it.
var checks = map[Check]struct {
	severity Severity
	remedy   string
}{
	CheckServer: {SeverityError, "use Redis 7.0 or newer, as master, with maxmemory-policy noeviction"},
	CheckMap:    {SeverityWarning, "whoever reads the maps, as this did, gives it the newest one"},
	CheckHome: {SeverityWarning,
		"it runs where it is; delete it if another one like it must not run beside it"},
	CheckTwins: {SeverityError, "delete it in one of them, or pause its queue there, before it runs twice"},

	CheckFlow: {SeverityError, "repair it: nothing of it is lost"},
	CheckFlowLeftover: {SeverityWarning, "repair it, or wait until a worker's janitor has; a member without its flow " +
		"runs as any job"},
	CheckReplicas:   {SeverityInfo, "see docs/scale.md for what a failover loses"},
	CheckKeyType:    {SeverityError, "find out what wrote it; a repair renames it to <key>:broken:<ms>"},
	CheckSetAside:   {SeverityInfo, "look what is in it, then remove it"},
	CheckUnknownKey: {SeverityInfo, "find out what wrote it; a newer version of the library may have"},
	CheckLostJob:    {SeverityError, "a repair gives it to the front of its queue"},
	CheckGhost: {SeverityError,
		"its record is lost: if the job is still wanted enqueue it again; a repair removes the id"},
	CheckTwoPlaces: {SeverityError, "a repair leaves the place where it runs first"},
	CheckTwice:     {SeverityError, "a repair leaves the one that is taken first"},
	CheckLeftover:  {SeverityWarning, "a repair removes it, as the janitor of a worker pool does"},
	CheckName:      {SeverityWarning, "a repair puts the name right by the job's record"},
	CheckRecord: {SeverityWarning,
		"the worker that takes the job will bury it: correct the record, or delete the job"},
	CheckWrongQueue: {SeverityWarning,
		"the handler of the queue will get the job, not that of the name in the record: correct one of them"},
	CheckClaim: {SeverityError, "a repair gives the job back to the front of its queue"},
	CheckElement: {SeverityError,
		"a repair makes the claim anew, or removes the element if the job is somewhere else"},
	CheckForgotten: {SeverityError, "its worker gives it back within about a minute; a repair does so now"},
	CheckSilent: {SeverityWarning,
		"it is of a version that does not say so, or hangs: if it does not get on restart it"},
	CheckUnknownWorker: {SeverityError,
		"a repair gives its jobs back to the front of their queues and removes what is left of it"},
	CheckDeadWorker: {SeverityError,
		"start any worker pool of this namespace: it puts the jobs of dead workers back"},
	CheckDeafWorker: {SeverityError, "restart this worker: it gets no jobs"},
	CheckHungWorker: {SeverityError, "have the handlers of these jobs return when their ctx ends, and restart the " +
		"process of this worker: the jobs that it holds run elsewhere"},
	CheckRights:    {SeverityError, "grant its user what it lacks, see docs/security.md: it goes on by itself"},
	CheckEndless:   {SeverityError, "a repair lets it lapse in a few seconds; who is alive renews it"},
	CheckKeyPlace:  {SeverityError, "a repair puts it right, as the janitor of a worker pool does within minutes"},
	CheckReady:     {SeverityError, "a repair puts the set right: until then no worker may look into the queue"},
	CheckToken:     {SeverityWarning, "a repair leaves a token"},
	CheckQueueName: {SeverityWarning, "a repair adds the name"},
	CheckUnserved:  {SeverityInfo, "start a worker pool that has a handler of this name"},
	CheckOutcome: {SeverityWarning,
		"a repair keeps an outcome for a day more, and removes a time without an outcome"},
	CheckLane:   {SeverityInfo, "start a worker pool: its janitor removes them"},
	CheckMorgue: {SeverityWarning, "start a worker pool: its janitor removes the oldest"},
}
