/* Small collectives in a collective region: src/coll/collective_region.h and flat_slots.cpp. In some of them all ranks
 * read all slots, as in an allreduce, in the others all read rank 0's, as in a broadcast; the sequence is
 * chosen at the start. Collective n uses slot n % SLOTS of each rank. A slot is reused once its last
 * collective is complete on all ranks, which they publish in their words (the lag) and, every SLOTS / 2
 * collectives, in `done`.
 *
 * A word is stored with release and loaded with acquire, so the stores before it are visible: in the model
 * the two stores are in order. Without the release they may be swapped. */

#ifndef RANKS
#define RANKS 3
#endif
#define SLOTS 2
#ifndef COLLECTIVES
#define COLLECTIVES 5
#endif
#define CELLS 6 /* at least RANKS * SLOTS */

byte payload[CELLS];
byte word_number[CELLS];
byte word_behind[CELLS];
byte shown_over[RANKS]; /* RankSlots::done */
byte broadcasts;        /* bit i: collective i + 1 is a broadcast */

#define AT(rank, number) ((rank) * SLOTS + (number) % SLOTS)

proctype Rank(byte self) {
  byte number = 1;
  byte over = 0;        /* CollectiveRegion::done_ */
  byte shown = 0;       /* done_shown_ */
  byte over_by_all = 0; /* done_by_all_ */
  byte behind;
  byte most;
  byte other;
  byte heard;

#define BROADCAST ((broadcasts >> (number - 1)) & 1)

  do
  :: number <= COLLECTIVES ->
     if
     :: BROADCAST && self != 0 -> goto listen
     :: else -> skip
     fi;
     /* may_write() */
#ifndef BROKEN_ROOM
     do
     :: number - over_by_all <= SLOTS -> break
     :: else ->
        atomic { /* update_done_by_all(), repeated: a waiting rank is woken */
          (RANKS < 2 || shown_over[(self + 1) % RANKS] + SLOTS >= number) &&
          (RANKS < 3 || shown_over[(self + 2) % RANKS] + SLOTS >= number) ->
          over_by_all = number - SLOTS
        }
     od;
#endif
     /* publish() */
#ifdef BROKEN_RELEASE
     atomic { word_number[AT(self, number)] = number; word_behind[AT(self, number)] = number - over };
     payload[AT(self, number)] = number;
#else
     payload[AT(self, number)] = number;
     atomic { word_number[AT(self, number)] = number; word_behind[AT(self, number)] = number - over };
#endif
listen:
     other = 0;
     most = 0;
     do
     :: other < RANKS ->
        if
        :: other == self || (BROADCAST && (other != 0 || self == 0)) -> skip
        :: else ->
           word_number[AT(other, number)] == number;
           behind = word_behind[AT(other, number)];
           if :: behind > most -> most = behind :: else -> skip fi;
           assert(payload[AT(other, number)] == number)
        fi;
        other++
     :: else -> break
     od;
     /* learn() with the greatest lag of all ranks, including this one. */
     if :: BROADCAST -> goto ended :: else -> skip fi;
     if :: number - over > most -> most = number - over :: else -> skip fi;
#ifdef BROKEN_LEARN
     most = 0;
#endif
     if :: number - most > over_by_all -> over_by_all = number - most :: else -> skip fi;
ended:
     over = number;
     number++;
#ifndef BROKEN_SHOW
     if
     :: over - shown >= SLOTS / 2 -> shown = over; shown_over[self] = over
     :: else -> skip
     fi
#endif
  :: else -> break
  od
}

init {
  atomic {
    select (broadcasts : 0 .. 31);
    run Rank(0);
    run Rank(1);
#if RANKS == 3
    run Rank(2)
#endif
  }
}
