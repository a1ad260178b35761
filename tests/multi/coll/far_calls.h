/* Collectives with counts and displacements of one type each: far.c includes this file twice, for int and for
 * the large counts, and defines
 *
 *     FUNCTION           the name of the function
 *     COUNT, PLACE       the types
 *     CALL_ON(comm, Name, lower, arguments...)   makes the call in the form of the program */
static void FUNCTION(PLACE step, int length, MPI_Comm ring) {
  COUNT counts[kRanksMax];
  PLACE places[kRanksMax];
  /* Some blocks are shorter, and the first rank's block is last in memory. */
  for (int rank = 0; rank < size_; ++rank) {
    counts[rank] = length - rank % 2;
    places[rank] = (size_ - 1 - rank) * step;
  }
  const COUNT own = counts[rank_];
  for (int root = 0; root < size_; ++root) {
    fill(near_, rank_, root, length);
    clear_all(step, length);
    CALL_ON(MPI_COMM_WORLD, Gatherv, gatherv, near_, own, MPI_INT, got_, counts, places, MPI_INT, root);
    for (int rank = 0; rank_ == root && rank < size_; ++rank)
      expect(got_ + places[rank], rank, root, (int)counts[rank], "Gatherv");

    for (int rank = 0; rank < size_; ++rank) fill(far_ + places[rank], rank_, rank, length);
    memset(near_, 0, sizeof near_);
    CALL_ON(MPI_COMM_WORLD, Scatterv, scatterv, far_, counts, places, MPI_INT, near_, own, MPI_INT, root);
    expect(near_, root, rank_, (int)own, "Scatterv");
  }

  fill(near_, rank_, 0, length);
  clear_all(step, length);
  CALL_ON(MPI_COMM_WORLD, Allgatherv, allgatherv, near_, own, MPI_INT, got_, counts, places, MPI_INT);
  for (int rank = 0; rank < size_; ++rank)
    expect(got_ + places[rank], rank, 0, (int)counts[rank], "Allgatherv");
  clear_all(step, length);
  fill(got_ + places[rank_], rank_, 1, (int)own);
  CALL_ON(MPI_COMM_WORLD, Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got_, counts, places,
          MPI_INT);
  for (int rank = 0; rank < size_; ++rank)
    expect(got_ + places[rank], rank, 1, (int)counts[rank], "Allgatherv in place");

  /* Between two ranks, as many elements as the block of the higher one holds. */
  for (int rank = 0; rank < size_; ++rank) {
    counts[rank] = length - (rank > rank_ ? rank : rank_) % 2;
    fill(far_ + places[rank], rank_, rank, length);
  }
  clear_all(step, length);
  CALL_ON(MPI_COMM_WORLD, Alltoallv, alltoallv, far_, counts, places, MPI_INT, got_, counts, places, MPI_INT);
  for (int rank = 0; rank < size_; ++rank)
    expect(got_ + places[rank], rank, rank_, (int)counts[rank], "Alltoallv");
  clear_all(step, length);
  for (int rank = 0; rank < size_; ++rank) fill(got_ + places[rank], rank_, rank, (int)counts[rank]);
  CALL_ON(MPI_COMM_WORLD, Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, got_, counts,
          places, MPI_INT);
  for (int rank = 0; rank < size_; ++rank)
    expect(got_ + places[rank], rank, rank_, (int)counts[rank], "Alltoallv in place");

  /* One neighbour on each side. */
  const int previous = (rank_ + size_ - 1) % size_, next = (rank_ + 1) % size_;
  const COUNT all = length;
  const PLACE far_place = (size_ - 1) * step;
  const MPI_Aint far_bytes = (MPI_Aint)far_place * (MPI_Aint)sizeof(int);
  const MPI_Datatype ints = MPI_INT;
  fill(near_, rank_, 2, length);
  clear_all(step, length);
  CALL_ON(ring, Neighbor_allgatherv, neighbor_allgatherv, near_, all, MPI_INT, got_, &all, &far_place,
          MPI_INT);
  expect(got_ + far_place, previous, 2, length, "Neighbor_allgatherv");
  clear_all(step, length);
  fill(far_ + far_place, rank_, next, length);
  CALL_ON(ring, Neighbor_alltoallv, neighbor_alltoallv, far_, &all, &far_place, MPI_INT, got_, &all,
          &far_place, MPI_INT);
  expect(got_ + far_place, previous, rank_, length, "Neighbor_alltoallv");
  clear_all(step, length);
  CALL_ON(ring, Neighbor_alltoallw, neighbor_alltoallw, far_, &all, &far_bytes, &ints, got_, &all, &far_bytes,
          &ints);
  expect(got_ + far_place, previous, rank_, length, "Neighbor_alltoallw");
}
