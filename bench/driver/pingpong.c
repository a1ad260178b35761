/* Half round trip. Each rank checks the received data, rewrites its send buffer and sends it back.
 *
 * Checking and rewriting are not part of a message's time and are subtracted:
 *   short messages  their cost is measured alone, on the same buffers; reading the clock in every round would
 *                   cost as much as the message
 *   long messages   both ranks read the clock around them. Rank 0 sums the time from before its send to after
 *                   its receive, its partner the time from after its receive to before its send. Half the
 *                   difference is the transfer time plus one reading of the clock, which is subtracted. */
#include <mpi.h>

#include "driver.h"

enum { stamped_bytes_min = 4096, calibration_rounds = 400, calibration_attempts = 5 };

double fill_and_check_cost_ns(const struct run* run) {
  double best = 0;
  uint64_t round = 0;
  int attempt, i;
  unsigned char* out = send_slot(run->bytes, 0);
  if (run->bytes >= stamped_bytes_min) return 0;
  fill(out, run->bytes, 0);
  for (attempt = 0; attempt < calibration_attempts; ++attempt) {
    const double begin = now_ns();
    double cost;
    for (i = 0; i < calibration_rounds; ++i) {
      check(out, run->bytes, round);
      fill(out, run->bytes, ++round);
    }
    cost = (now_ns() - begin) / calibration_rounds;
    if (attempt == 0 || cost < best) best = cost;
  }
  return best;
}

static void send_one(const struct run* run, int partner) {
  MPI_Send(send_slot(run->bytes, 0), (int)run->bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD);
}

static void receive_one(const struct run* run, int partner) {
  MPI_Recv(receive_slot(run->bytes, 0), (int)run->bytes, MPI_BYTE, partner, tag_data, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

static double short_messages(const struct run* run, int leads, int partner, int iterations) {
  unsigned char* out = send_slot(run->bytes, 0);
  unsigned char* in = receive_slot(run->bytes, 0);
  double begin = 0;
  int i;
  /* Round 0 synchronizes both ranks and is not timed. */
  for (i = 0; i <= iterations; ++i) {
    const uint64_t seed = (uint64_t)i;
    if (leads) {
      if (i == 1) begin = now_ns();
      fill(out, run->bytes, 2 * seed);
      send_one(run, partner);
      receive_one(run, partner);
      check(in, run->bytes, 2 * seed + 1);
    } else {
      receive_one(run, partner);
      check(in, run->bytes, 2 * seed);
      fill(out, run->bytes, 2 * seed + 1);
      send_one(run, partner);
    }
  }
  return leads ? (now_ns() - begin) / (2.0 * iterations) - run->fill_and_check_ns : 0;
}

static double long_messages(const struct run* run, int leads, int partner, int iterations) {
  unsigned char* out = send_slot(run->bytes, 0);
  unsigned char* in = receive_slot(run->bytes, 0);
  double sum = 0, other = 0;
  int i;
  for (i = 0; i <= iterations; ++i) {
    const uint64_t seed = (uint64_t)i;
    double begin;
    if (leads) {
      fill(out, run->bytes, 2 * seed);
      begin = now_ns();
      send_one(run, partner);
      receive_one(run, partner);
      if (i > 0) sum += now_ns() - begin;
      check(in, run->bytes, 2 * seed + 1);
    } else {
      receive_one(run, partner);
      begin = now_ns();
      check(in, run->bytes, 2 * seed);
      fill(out, run->bytes, 2 * seed + 1);
      if (i > 0) sum += now_ns() - begin;
      send_one(run, partner);
    }
  }
  if (!leads) {
    MPI_Send(&sum, 1, MPI_DOUBLE, partner, tag_report, MPI_COMM_WORLD);
    return 0;
  }
  MPI_Recv(&other, 1, MPI_DOUBLE, partner, tag_report, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return (sum - other) / (2.0 * iterations) - clock_cost_ns();
}

double pingpong(const struct run* run, int leads, int partner, int iterations) {
  if (run->bytes >= stamped_bytes_min) return long_messages(run, leads, partner, iterations);
  return short_messages(run, leads, partner, iterations);
}
