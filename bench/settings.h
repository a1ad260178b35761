/* Settings of the library while a job runs: control variables of the tool interface, as the probes of `hearth
 * tune` and `hearth bench --skew` are given them. Our own library's variables, so that no other library can
 * run what uses this. Between MPI_T_init_thread and MPI_T_finalize, by one thread. */
#ifndef HEARTH_BENCH_SETTINGS_H
#define HEARTH_BENCH_SETTINGS_H

/* "name=value name=value"; -1 leaves the library its choice. Ends the job where that is not possible. */
void settings_apply(const char* settings);

#endif
