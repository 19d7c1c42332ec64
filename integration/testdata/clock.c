/* Shifts the wall clock of the process into which it is loaded by the seconds that stand in the file CLOCK_SHIFT. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

__attribute__((constructor)) static void map_shift(void) {
	const char *name = getenv("CLOCK_SHIFT");
	int file = name ? open(name, O_RDONLY) : -1;
	if (file < 0) return;
	void *at = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
	if (at != MAP_FAILED) shift = at;
	close(file);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int failed = (int)syscall(SYS_clock_gettime, clock, t);
	if (!failed && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += *shift;
	return failed;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}
