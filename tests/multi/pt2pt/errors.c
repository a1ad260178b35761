/* Truncation: the receiver gets the error class and a text with every protocol; the other requests of a
 * Waitall are unaffected. Two ranks. */
#include "../coll/check.h"

static void check_text(int code, int length, int room) {
  char text[MPI_MAX_ERROR_STRING], wanted[32];
  int text_length = 0, error_class = -1;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_TRUNCATE, "%d bytes into %d gave class %d", length, room, error_class);
  MPI_Error_string(code, text, &text_length);
  snprintf(wanted, sizeof wanted, "%d", length);
  CHECK(strstr(text, wanted) != NULL, "the text does not say %d: %s", length, text);
  snprintf(wanted, sizeof wanted, "%d", room);
  CHECK(strstr(text, wanted) != NULL, "the text does not say %d: %s", room, text);
  CHECK(strstr(text, "process 0") != NULL && strstr(text, "process 1") != NULL,
        "the text does not name both processes: %s", text);
}

/* `posted`: the receive is posted before the message arrives. Afterwards an ordinary message gets through. */
static void truncate_one(int length, int room, int posted) {
  unsigned char* data = malloc((size_t)length);
  if (rank_ == 0) {
    for (int i = 0; i < length; ++i) data[i] = (unsigned char)(i * 7 + 3);
    if (posted) MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request request;
    MPI_Isend(data, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    if (!posted) MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the sender of %d bytes has an error",
          length);
    MPI_Send(data, length, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    MPI_Status status;
    memset(data, 0xa5, (size_t)length);
    if (posted) {
      MPI_Irecv(data, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
      check_text(MPI_Wait(&request, &status), length, room);
    } else {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check_text(MPI_Recv(data, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status), length, room);
    }
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 1, "status says source %d tag %d", status.MPI_SOURCE,
          status.MPI_TAG);
    for (int i = room; i < length; ++i) CHECK(data[i] == 0xa5, "byte %d behind the buffer was written", i);
    MPI_Recv(data, length, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &status);
    for (int i = 0; i < length; ++i)
      CHECK(data[i] == (unsigned char)(i * 7 + 3), "after truncation, byte %d is %d", i, data[i]);
  }
  free(data);
}

static void truncate_one_of_three(void) {
  int sent[3][8], received[3][8];
  MPI_Request requests[3];
  MPI_Status statuses[3];
  for (int i = 0; i < 24; ++i) sent[i / 8][i % 8] = i;
  memset(received, 0xff, sizeof received);
  if (rank_ == 0) {
    for (int i = 0; i < 3; ++i) MPI_Send(sent[i], 8, MPI_INT, 1, i, MPI_COMM_WORLD);
  } else {
    for (int i = 0; i < 3; ++i)
      MPI_Irecv(received[i], i == 1 ? 5 : 8, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    const int code = MPI_Waitall(3, requests, statuses);
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    CHECK(error_class == MPI_ERR_IN_STATUS, "MPI_Waitall gave class %d", error_class);
    for (int i = 0; i < 3; ++i) {
      if (i == 1) {
        check_text(statuses[i].MPI_ERROR, 32, 20);
      } else {
        CHECK(statuses[i].MPI_ERROR == MPI_SUCCESS, "status %d has error %d", i, statuses[i].MPI_ERROR);
        CHECK(memcmp(sent[i], received[i], sizeof sent[i]) == 0, "message %d is wrong", i);
      }
      CHECK(statuses[i].MPI_TAG == i && requests[i] == MPI_REQUEST_NULL, "status %d has tag %d", i,
            statuses[i].MPI_TAG);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  CHECK(size_ == 2, "wants 2 ranks");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int posted = 0; posted < 2; ++posted) {
    truncate_one(40, 24, posted);
    truncate_one(1500, 1499, posted);
    truncate_one(5120, 4000, posted);
    truncate_one(204800, 100, posted);
    truncate_one(204800, 150000, posted);
  }
  truncate_one_of_three();
  MPI_Finalize();
  return 0;
}
