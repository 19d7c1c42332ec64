// Everything works without scripts: they keep pages fresh, let a search go on, and add keys, a theme and lists. Each
// idea is a file of its own; a module comes when the page is there.
import { away } from "./away.js";
import { finding } from "./finding.js";
import { jobLog } from "./joblog.js";
import { keys } from "./keys.js";
import { live } from "./live.js";
import { nameLists } from "./names.js";
import { forgetNotice } from "./notice.js";
import { palette } from "./palette.js";
import { rowKeys } from "./rows.js";
import { themeSwitch } from "./theme.js";
import { ticks } from "./ticks.js";

themeSwitch();
keys();
rowKeys();
palette();
nameLists();
ticks();
forgetNotice();
finding();
jobLog();
live();
away();
