/* Settings of the library in a running job: control variables of the tool interface, for the probes of
 * `hearth tune` and `hearth bench --skew`. The variables are Hearth's own, so no other library can run these
 * programs. Used between MPI_T_init_thread and MPI_T_finalize, by one thread. */
#ifndef HEARTH_BENCH_SETTINGS_H
#define HEARTH_BENCH_SETTINGS_H

/* "name=value name=value"; -1 restores the library's choice. Ends the job if that is not possible. */
void settings_apply(const char* settings);

#endif
