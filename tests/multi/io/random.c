/* Random accesses, compared with a plain model of the file in memory.
 *
 *   io_random [rounds]
 *
 * IO_SEED=n repeats the rounds of a failure, which prints its seed. IO_ENGINE forces the engine of all
 * accesses by the hint hearth_engine, IO_QUEUE the queue of non-blocking ones. IO_FOLDER is where the file is
 * made.
 *
 * Each round divides a tile of the file among the ranks at random, in granules of equal length, some of which
 * stay holes. The filetype of a rank has its granules, so ranks never write the same bytes, and every rank
 * can compute what all of them write. */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "file.h"

enum { kGranulesMax = 64, kFileBytesMax = 1 << 20, kDataBytesMax = 96 * 1024 };

static uint64_t seed_, state_;
static char path_[512];
static unsigned char model_[kFileBytesMax];
static int64_t model_bytes_;

/* The same numbers on all ranks. */
static uint64_t draw(uint64_t end) {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t word = state_;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return (word ^ word >> 31) % end;
}

static unsigned char value(uint64_t round, int rank, int64_t index) {
  uint64_t word = seed_ * 31 + round * 1000003 + (uint64_t)rank * 7919 + (uint64_t)index;
  word = (word ^ word >> 15) * 0x2545f4914f6cdd1du;
  return (unsigned char)(word >> 32);
}

typedef struct {
  int granule; /* bytes */
  int granules;
  int owner[kGranulesMax]; /* -1: a hole */
  int64_t displacement;
  int order; /* how the filetype is built */
} Tile;

static int64_t granules_of(const Tile* tile, int rank) {
  int64_t own = 0;
  for (int i = 0; i < tile->granules; ++i) own += tile->owner[i] == rank;
  return own;
}

/* File offset of a data byte of a rank's view. */
static int64_t place(const Tile* tile, int rank, int64_t data) {
  const int64_t each = granules_of(tile, rank) * tile->granule;
  int64_t left = data % each / tile->granule;
  int at = 0;
  while (tile->owner[at] != rank || left-- > 0) ++at;
  return tile->displacement + data / each * tile->granule * tile->granules + (int64_t)at * tile->granule +
         data % tile->granule;
}

static Tile draw_tile(void) {
  static const int granules[] = {1, 3, 8, 16, 64, 100, 1024, 4096};
  Tile tile;
  tile.granule = granules[draw(8)];
  const int most = 65536 / tile.granule;
  tile.granules =
      size_ + (int)draw((uint64_t)(most < kGranulesMax - size_ ? most : kGranulesMax - size_) + 1);
  const int holes = draw(3) == 0;
  for (int i = 0; i < tile.granules; ++i)
    tile.owner[i] = holes && draw(4) == 0 ? -1 : draw(2) ? i % size_ : (int)draw((uint64_t)size_);
  for (int rank = 0; rank < size_; ++rank) tile.owner[rank] = rank; /* no empty filetype */
  tile.displacement = draw(2) ? 0 : (int64_t)draw(5000);
  tile.order = (int)draw(3);
  return tile;
}

static MPI_Datatype filetype_of(const Tile* tile, MPI_Datatype etype) {
  MPI_Aint places[kGranulesMax];
  int indices[kGranulesMax], lengths[kGranulesMax], count = 0;
  for (int i = 0; i < tile->granules; ++i) {
    if (tile->owner[i] != rank_) continue;
    places[count] = (MPI_Aint)i * tile->granule;
    indices[count] = i;
    lengths[count++] = 1;
  }
  MPI_Datatype list, filetype;
  if (tile->order == 0) {
    DO(MPI_Type_create_hindexed_block(count, 1, places, etype, &list));
  } else if (tile->order == 1) {
    DO(MPI_Type_indexed(count, lengths, indices, etype, &list));
  } else {
    MPI_Datatype each[kGranulesMax];
    for (int i = 0; i < count; ++i) each[i] = etype;
    DO(MPI_Type_create_struct(count, lengths, places, each, &list));
  }
  DO(MPI_Type_create_resized(list, 0, (MPI_Aint)tile->granule * tile->granules, &filetype));
  MPI_Type_free(&list);
  DO(MPI_Type_commit(&filetype));
  return filetype;
}

/* Memory of `count` etypes: contiguous, or with gaps. */
typedef struct {
  MPI_Datatype type;
  int count;
  int64_t piece, stride, bytes; /* bytes of data between two gaps, their distance, all bytes of memory */
} Memory;

static Memory draw_memory(int64_t etypes, int granule, MPI_Datatype etype) {
  Memory memory = {etype, (int)etypes, etypes * granule, etypes * granule, etypes * granule};
  if (draw(2) || etypes == 0) {
    MPI_Type_dup(etype, &memory.type);
    return memory;
  }
  int64_t blocks = 1 + (int64_t)draw(8);
  while (etypes % blocks != 0) --blocks;
  memory.piece = etypes / blocks * granule;
  memory.stride = memory.piece + (int64_t)draw(40);
  memory.bytes = memory.stride * blocks;
  memory.count = 1;
  DO(MPI_Type_create_hvector((int)blocks, (int)(etypes / blocks), memory.stride, etype, &memory.type));
  DO(MPI_Type_commit(&memory.type));
  return memory;
}

static unsigned char* at(unsigned char* buffer, const Memory* memory, int64_t data) {
  return buffer + data / memory->piece * memory->stride + data % memory->piece;
}

enum { kAt, kAtAll, kOwn, kAll, kOrdered, kNonblocking, kNonblockingAll, kSplit, kForms };

static void transfer(MPI_File file, int writing, int form, MPI_Offset offset, void* buffer,
                     const Memory* memory, MPI_Status* status) {
  int code = MPI_SUCCESS;
  MPI_Request request;
#define PICK(write, read) (writing ? write : read)
  switch (form) {
    case kAt:
      code = PICK(MPI_File_write_at(file, offset, buffer, memory->count, memory->type, status),
                  MPI_File_read_at(file, offset, buffer, memory->count, memory->type, status));
      break;
    case kAtAll:
      code = PICK(MPI_File_write_at_all(file, offset, buffer, memory->count, memory->type, status),
                  MPI_File_read_at_all(file, offset, buffer, memory->count, memory->type, status));
      break;
    case kOwn:
    case kAll:
      MPI_File_seek(file, offset, MPI_SEEK_SET);
      if (form == kOwn) {
        code = PICK(MPI_File_write(file, buffer, memory->count, memory->type, status),
                    MPI_File_read(file, buffer, memory->count, memory->type, status));
      } else {
        code = PICK(MPI_File_write_all(file, buffer, memory->count, memory->type, status),
                    MPI_File_read_all(file, buffer, memory->count, memory->type, status));
      }
      break;
    case kNonblocking:
      code = PICK(MPI_File_iwrite_at(file, offset, buffer, memory->count, memory->type, &request),
                  MPI_File_iread_at(file, offset, buffer, memory->count, memory->type, &request));
      MPI_Wait(&request, status);
      break;
    case kNonblockingAll:
      MPI_File_seek(file, offset, MPI_SEEK_SET);
      code = PICK(MPI_File_iwrite_all(file, buffer, memory->count, memory->type, &request),
                  MPI_File_iread_all(file, buffer, memory->count, memory->type, &request));
      MPI_Wait(&request, status);
      break;
    default:
      code = PICK(MPI_File_write_at_all_begin(file, offset, buffer, memory->count, memory->type),
                  MPI_File_read_at_all_begin(file, offset, buffer, memory->count, memory->type));
      CHECK(code == MPI_SUCCESS, "begin of form %d fails", form);
      code = PICK(MPI_File_write_at_all_end(file, buffer, status),
                  MPI_File_read_at_all_end(file, buffer, status));
      break;
  }
  CHECK(code == MPI_SUCCESS, "seed %llu: form %d fails", (unsigned long long)seed_, form);
}

/* The file as the system has it. */
static void compare_file(uint64_t round) {
  static unsigned char found[kFileBytesMax];
  if (rank_ != 0) return;
  const int descriptor = open(path_, O_RDONLY);
  const ssize_t bytes = read(descriptor, found, sizeof found);
  close(descriptor);
  CHECK(bytes == model_bytes_, "seed %llu round %llu: the file has %lld bytes instead of %lld",
        (unsigned long long)seed_, (unsigned long long)round, (long long)bytes, (long long)model_bytes_);
  for (int64_t i = 0; i < bytes; ++i) {
    CHECK(found[i] == model_[i], "seed %llu round %llu: byte %lld of the file is %u instead of %u",
          (unsigned long long)seed_, (unsigned long long)round, (long long)i, found[i], model_[i]);
  }
}

/* Etypes that a rank may access: its part of the file has room for the data. */
static int64_t draw_etypes(const Tile* tile, int rank, int64_t* offset) {
  const int64_t own = granules_of(tile, rank);
  const int64_t tiles = (kFileBytesMax - tile->displacement) / tile->granule / tile->granules;
  int64_t most = kDataBytesMax / tile->granule;
  if (most > tiles * own / 2) most = tiles * own / 2;
  *offset = draw(2) ? 0 : (int64_t)draw((uint64_t)(tiles * own / 2));
  return draw(16) == 0 ? 0 : 1 + (int64_t)draw((uint64_t)most);
}

static void run_round(MPI_File file, uint64_t round) {
  static unsigned char buffer[2 * kDataBytesMax + 65536];
  const Tile tile = draw_tile();
  const int form = (int)draw(kForms) == kOrdered ? kAtAll : (int)draw(kForms);
  const int used = form == kOrdered ? kAll : form;
  const int whole = draw(2) == 0; /* all ranks access the same tiles: pieces interleave */
  const int64_t tiles = 1 + (int64_t)draw(8);
  MPI_Datatype etype;
  DO(MPI_Type_contiguous(tile.granule, MPI_BYTE, &etype));
  DO(MPI_Type_commit(&etype));
  MPI_Datatype filetype = filetype_of(&tile, etype);
  if (draw(6) == 0) {
    MPI_File_set_size(file, 0);
    model_bytes_ = 0;
    memset(model_, 0, sizeof model_);
  }
  MPI_File_set_view(file, tile.displacement, etype, filetype, draw(2) ? "native" : "internal", MPI_INFO_NULL);
  MPI_File_set_atomicity(file, draw(4) == 0);

  Memory own = {MPI_BYTE, 0, 1, 1, 0};
  int64_t own_offset = 0, own_etypes = 0;
  for (int rank = 0; rank < size_; ++rank) {
    int64_t offset = 0, etypes = draw_etypes(&tile, rank, &offset);
    if (whole) {
      const int64_t room = (kFileBytesMax - tile.displacement) / tile.granule / tile.granules;
      offset = 0;
      etypes = granules_of(&tile, rank) * (tiles < room ? tiles : room);
      while (etypes * tile.granule > kDataBytesMax) etypes /= 2;
    }
    const Memory memory = draw_memory(etypes, tile.granule, etype);
    for (int64_t i = 0; i < etypes * tile.granule; ++i) {
      const int64_t to = place(&tile, rank, offset * tile.granule + i);
      model_[to] = value(round, rank, i);
      if (to >= model_bytes_) model_bytes_ = to + 1;
    }
    if (rank == rank_) {
      own = memory;
      own_offset = offset;
      own_etypes = etypes;
    } else {
      MPI_Datatype other = memory.type;
      MPI_Type_free(&other);
    }
  }
  memset(buffer, 0xee, sizeof buffer);
  for (int64_t i = 0; i < own_etypes * tile.granule; ++i) *at(buffer, &own, i) = value(round, rank_, i);
  MPI_Status status;
  transfer(file, 1, used, own_offset, buffer, &own, &status);
  MPI_Count moved = 0;
  MPI_Get_elements_x(&status, own.type, &moved);
  CHECK(moved == own_etypes * tile.granule, "seed %llu round %llu: the status of the write has %lld bytes",
        (unsigned long long)seed_, (unsigned long long)round, (long long)moved);
  MPI_Barrier(MPI_COMM_WORLD);
  compare_file(round);
  MPI_Type_free(&own.type);

  /* Reads by every form: the same view, or one of consecutive bytes; partly beyond the end of the file. */
  const int read_form = (int)draw(kForms) == kOrdered ? kAt : (int)draw(kForms);
  const int plain = draw(3) == 0;
  if (plain) MPI_File_set_view(file, tile.displacement, etype, etype, "native", MPI_INFO_NULL);
  for (int rank = 0; rank < size_; ++rank) {
    int64_t offset = 0;
    const int64_t etypes = draw_etypes(&tile, rank, &offset);
    const Memory memory = draw_memory(etypes, tile.granule, etype);
    if (rank != rank_) {
      MPI_Datatype other = memory.type;
      MPI_Type_free(&other);
      continue;
    }
    own = memory;
    own_offset = offset;
    own_etypes = etypes;
  }
  if (plain && (own_offset + own_etypes) * tile.granule + tile.displacement > kFileBytesMax) own_offset = 0;
  memset(buffer, 0xdd, sizeof buffer);
  transfer(file, 0, read_form == kOrdered ? kAtAll : read_form, own_offset, buffer, &own, &status);
  int64_t expected = 0;
  for (int64_t i = 0; i < own_etypes * tile.granule; ++i) {
    const int64_t data = own_offset * tile.granule + i;
    const int64_t from = plain ? tile.displacement + data : place(&tile, rank_, data);
    if (from >= model_bytes_) break;
    ++expected;
    CHECK(*at(buffer, &own, i) == model_[from], "seed %llu round %llu: byte %lld read is %u instead of %u",
          (unsigned long long)seed_, (unsigned long long)round, (long long)i, *at(buffer, &own, i),
          model_[from]);
  }
  MPI_Get_elements_x(&status, MPI_BYTE, &moved);
  CHECK(moved == expected, "seed %llu round %llu: the status of the read has %lld bytes instead of %lld",
        (unsigned long long)seed_, (unsigned long long)round, (long long)moved, (long long)expected);
  int64_t untouched = 0;
  for (size_t i = 0; i < sizeof buffer; ++i) untouched += buffer[i] == 0xdd;
  CHECK(untouched >= (int64_t)sizeof buffer - expected,
        "seed %llu round %llu: bytes outside of the data changed", (unsigned long long)seed_,
        (unsigned long long)round);
  MPI_Type_free(&own.type);
  MPI_Type_free(&filetype);
  MPI_Type_free(&etype);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  start_with_codes(argc, argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  const char* const text = getenv("IO_SEED");
  seed_ = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)(now() * 1e9);
  MPI_Bcast(&seed_, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  state_ = seed_;
  const char* const folder = getenv("IO_FOLDER");
  int process = (int)getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path_, sizeof path_, "%s/io_random.%d", folder != NULL ? folder : "/tmp", process);
  MPI_Info info;
  MPI_Info_create(&info);
  const char* const engine = getenv("IO_ENGINE");
  if (engine != NULL) MPI_Info_set(info, "hearth_engine", engine);
  const char* const queue = getenv("IO_QUEUE");
  if (queue != NULL) MPI_Info_set(info, "hearth_queue", queue);
  if (draw(2)) MPI_Info_set(info, "cb_buffer_size", "8192");
  MPI_File file;
  const int code =
      MPI_File_open(MPI_COMM_WORLD, path_,
                    MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE, info, &file);
  CHECK(code == MPI_SUCCESS, "cannot open %s", path_);
  for (int round = 0; round < rounds; ++round) run_round(file, (uint64_t)round);
  MPI_File_close(&file);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
