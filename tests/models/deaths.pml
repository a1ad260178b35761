/* Deaths that the ranks themselves report: Liveness::publish in src/shm/liveness.cpp. TELLERS ranks report the
 * same two deaths, in either order, and all reporters but one may die at any step; a reader reads at any
 * time. Numbers are consecutive, each death has one, and a reader that sees a count of n finds the numbers of
 * all n deaths. All words are accessed in program order: every store is a release, every load an acquire, and
 * the count is changed by compare-exchange only. */

#define TELLERS 3
#define DEATHS 2
#define NOBODY 0

byte count = 0;         /* the word: the number of deaths ... */
byte claimed = NOBODY;  /* ... and 1 + the rank whose death is being counted */
byte number[DEATHS];

inline read_all(seen) {
  /* A reader that has seen a count of `seen` finds as many numbers, from 1 on. */
  d_step {
    assert(seen == 0 || number[0] == 1 || number[1] == 1);
    assert(seen < 2 || (number[0] + number[1] == 3 && number[0] != number[1]))
  }
}

inline may_die() {
  if :: skip :: mortal -> goto died fi
}

proctype Teller(byte self) {
  byte told = 0;
  byte who;
  byte seen_count;
  byte seen_claimed;
  bool missing;
  /* The last reporter lives, so that the reports are completed. */
  bool mortal = self < TELLERS - 1;

  if :: who = 0 :: who = 1 fi;
  do
  :: told == DEATHS -> break
  :: else ->
    do
    ::
#ifdef BROKEN_LOOKS_BEFORE
      missing = number[who] == 0;
#endif
      atomic { seen_count = count; seen_claimed = claimed };
      may_die();
      if
#ifndef BROKEN_NOBODY_HELPS
      :: seen_claimed != NOBODY ->
        /* Every process stores the same number, however often. */
        assert(number[seen_claimed - 1] == 0 || number[seen_claimed - 1] == seen_count + 1);
#ifndef BROKEN_COUNTED_BEFORE
        number[seen_claimed - 1] = seen_count + 1;
        may_die();
#endif
        atomic {
          if
          :: count == seen_count && claimed == seen_claimed -> count = seen_count + 1; claimed = NOBODY
          :: else
          fi
        };
#ifdef BROKEN_COUNTED_BEFORE
        may_die();
        number[seen_claimed - 1] = seen_count + 1
#endif
#endif
      :: seen_claimed == NOBODY ->
#ifndef BROKEN_LOOKS_BEFORE
        missing = number[who] == 0;
#endif
        may_die();
        if
#ifdef BROKEN_LEAVES_EARLY
        :: !missing -> break
#else
        :: !missing && number[who] <= seen_count -> break
        :: !missing && number[who] > seen_count -> skip /* numbered since, perhaps not counted yet */
#endif
        :: missing ->
          atomic {
            if
            :: count == seen_count && claimed == NOBODY -> claimed = who + 1
            :: else
            fi
          }
        fi
      fi
    od;
    told++;
    who = 1 - who
  od;
  assert(count == DEATHS);
  read_all(2);
died:
  skip
}

active proctype Reader() {
  byte seen = count;
  read_all(seen);
  seen = count;
  read_all(seen)
}

init {
  atomic {
    byte next = 0;
    do
    :: next == TELLERS -> break
    :: else -> run Teller(next); next++
    od
  }
}
