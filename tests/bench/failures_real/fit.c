/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of MPI_Allreduce that fails on one rank at step 6: fit FAULT RANK */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *fault = argc > 1 ? argv[1] : "";
    int who = argc > 2 ? atoi(argv[2]) : 0;
    double in[256] = {1.0}, out[256];
    for (int step = 1; step <= 12; step++) {
        if (step == 6 && rank == who) {
            if (strcmp(fault, "abort") == 0) {
                fprintf(stderr, "rank %d: table of experts is empty, giving up\n", rank);
                MPI_Abort(MPI_COMM_WORLD, 17);
            } else if (strcmp(fault, "exit") == 0) {
                exit(9);
            } else if (strcmp(fault, "segv") == 0) {
                raise(SIGSEGV);
            } else if (strcmp(fault, "kill") == 0) {
                raise(SIGKILL);
            } else if (strcmp(fault, "hang") == 0) {
                sleep(60);
            } else if (strcmp(fault, "truncate") == 0) {
                MPI_Bcast(out, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            }
        }
        MPI_Allreduce(in, out, strcmp(fault, "count") == 0 && rank == who ? 64 : 256, MPI_DOUBLE,
                      MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("step %d/12 loss %.4f\n", step, 3.0 / (step + out[0] / size));
            fflush(stdout);
        }
        usleep(20000);
    }
    if (rank == 0) {
        printf("training finished\n");
    }
    MPI_Finalize();
    return 0;
}
