/* One agreement among RANKS processes of which any may die at any step: src/coll/agreement_stores.cpp. All who come to an
 * outcome come to the same one, and all who live come to one.
 *
 * A process that is told dead runs no more, and all that it stored is there to be read (shm/liveness.h): so the
 * model may have every store visible at once. Flags are one bit; an outcome has who decided, the deaths told by
 * then, and the flags of all who took part. */

#ifndef RANKS
#define RANKS 3
#endif

bool contributed[RANKS];
bool flag[RANKS];       /* of whoever has contributed */
byte decided[RANKS];    /* 0: not yet */
bool dead[RANKS];
bool told[RANKS];
byte deaths = 0;
byte outcome = 0;       /* of the first who came to one */

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
     /* Read first, then asked whether it is dead: what it stored in between is passed over. */
     if :: decided[asked] != 0 -> finish(decided[asked]); goto over :: else -> skip fi;
     atomic { told[asked] || decided[asked] != 0 -> was_dead = told[asked] }
#else
     /* As often as it takes: until there is an outcome, or the death is told. */
     atomic { told[asked] || decided[asked] != 0 -> was_dead = told[asked] }
     if :: decided[asked] != 0 -> finish(decided[asked]); goto over :: else -> skip fi;
#endif
     if :: was_dead -> asked++ :: else -> skip fi
#ifdef BROKEN_PATIENCE
     ;
     /* It takes too long: somebody else decides. */
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
