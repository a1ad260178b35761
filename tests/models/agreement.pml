/* One agreement among RANKS processes, any of which may die at any step: src/coll/agreement_stores.cpp. All
 * processes that get an outcome get the same one, and all survivors get one.
 *
 * A process that is reported dead does not run any more, and all its stores are visible (shm/liveness.h), so
 * the model may make every store visible at once. Flags are one bit; an outcome consists of the decider, the
 * deaths reported by then, and the combined flags of all contributors. */

#ifndef RANKS
#define RANKS 3
#endif

bool contributed[RANKS];
bool flag[RANKS];       /* valid once contributed */
byte decided[RANKS];    /* 0: not yet */
bool dead[RANKS];
bool told[RANKS];
byte deaths = 0;
byte outcome = 0;       /* the first one */

#define OUTCOME(decider, count, bit) (1 + (decider) * 8 + (count) * 2 + (bit))

inline finish(value) {
  atomic {
    assert(value != 0);
    assert(outcome == 0 || outcome == value);
    outcome = value
  }
}

proctype Rank(byte self) {
  byte asked = 0;
  byte other;
  byte bit_of_all;
  bool was_dead;

  if :: flag[self] = false :: flag[self] = true fi;
  if :: skip :: goto died fi;
  contributed[self] = true; /* contribute(), release */
  do
  :: asked == self -> break
  :: else ->
     if :: skip :: goto died fi;
#ifdef BROKEN_ORDER
     /* Reads first, then checks whether the process is dead: a store in between is missed. */
     if :: decided[asked] != 0 -> finish(decided[asked]); goto over :: else -> skip fi;
     atomic { told[asked] || decided[asked] != 0 -> was_dead = told[asked] }
#else
     /* Repeated until there is an outcome or the death is reported. */
     atomic { told[asked] || decided[asked] != 0 -> was_dead = told[asked] }
     if :: decided[asked] != 0 -> finish(decided[asked]); goto over :: else -> skip fi;
#endif
     if :: was_dead -> asked++ :: else -> skip fi
#ifdef BROKEN_PATIENCE
     ;
     /* After a timeout another process decides. */
     if :: asked < self -> asked++ :: skip fi
#endif
  od;
  /* gather() */
  other = 0;
  bit_of_all = flag[self];
  do
  :: other < RANKS ->
     if
     :: other == self -> skip
     :: else ->
        if :: skip :: goto died fi;
        atomic { told[other] || contributed[other] -> was_dead = told[other] }
        if
        :: contributed[other] -> bit_of_all = bit_of_all & flag[other]
        :: else -> assert(was_dead)
        fi
     fi;
     other++
  :: else -> break
  od;
  if :: skip :: goto died fi;
  /* decide() */
  atomic { bit_of_all = OUTCOME(self, deaths, bit_of_all) }
  if :: skip :: goto died fi;
  decided[self] = bit_of_all; /* release */
  if :: skip :: goto died fi;
  finish(bit_of_all);
  goto over;
died:
  dead[self] = true;
over:
  skip
}

proctype Launcher() {
  byte i;
end:
  do
  :: atomic {
       dead[0] && !told[0] -> told[0] = true; deaths++
     }
  :: atomic {
       dead[1] && !told[1] -> told[1] = true; deaths++
     }
#if RANKS == 3
  :: atomic {
       dead[2] && !told[2] -> told[2] = true; deaths++
     }
#endif
  od
}

init {
  atomic {
    run Launcher();
    run Rank(0);
    run Rank(1);
#if RANKS == 3
    run Rank(2)
#endif
  }
}
