/* One agreement among three processes on three machines, by messages: src/coll/agreement_messages.cpp. Any
 * two may die at any step, also between two sends. Messages of a dead process may arrive or be lost, before
 * or after its death is noticed, and each process notices a death at any time. All processes that get an
 * outcome, also those that die afterwards, get the same one, and all survivors get one.
 *
 * A message is a mark in its sender's row that the receiver takes at any time. A leader's proposal is one
 * bit: the combined flags of all whose parts it had. */

#define N 3
#define AT(from, to) ((from) * N + (to))
#define NOBODY N

bool dead[N];
byte deaths = 0;
bool flag[N];           /* contribution of each process */

bool part[N * N];       /* sent to a leader ... */
byte part_by[N * N];    /* ... with the latest accepted proposal: 1 + its leader, 0: none */
bool part_bit[N * N];
bool proposal[N * N];
bool proposed[N];       /* by this leader */
bool yes[N * N];
bool decision[N * N];
bool outcome_known = false;
bool outcome;

inline may_die() {
  if
  :: atomic {
      deaths < N - 1 -> deaths++; dead[self] = true;
      /* Messages in flight to each of the other processes may be lost. */
      i = 0;
      do
      :: i == N -> break
      :: else ->
        if
        :: skip
        :: part[AT(self, i)] = false; proposal[AT(self, i)] = false; yes[AT(self, i)] = false;
           decision[AT(self, i)] = false
        fi;
        i++
      od;
      i = 0
    };
    goto died
  :: skip
  fi
}

/* follow() */
inline follow(who) {
  leader = who;
  d_step {
    part_by[AT(self, leader)] = taken_by;
    part_bit[AT(self, leader)] = taken_bit;
    part[AT(self, leader)] = true
  };
  may_die()
}

proctype Process(byte self) {
  byte leader = NOBODY;
  byte taken_by = 0;
  bool taken_bit = false;
  bool proposing = false;
  bool decided = false;
  byte known = 0; /* bit i: process i is known to be dead */
  byte i = 0;
  byte latest = 0;
  bool all;

  if :: flag[self] = false :: flag[self] = true fi;
  may_die();
  follow(0);
  do
  :: decided -> break
  /* Notices a death. */
  :: !decided && dead[0] && !(known & 1) -> known = known | 1
  :: !decided && dead[1] && !(known & 2) -> known = known | 2
  :: !decided && dead[2] && !(known & 4) -> known = known | 4
  :: !decided && leader == 0 && (known & 1) && !(known & 2) -> follow(1)
  :: !decided && leader < 2 && (known & 1) && (known & 2) -> follow(2)
  /* Accepts a proposal, unless this process follows a later leader. */
  :: !decided && proposal[AT(0, self)] ->
    proposal[AT(0, self)] = false;
    if
#ifdef BROKEN_TAKES_EARLIER
    :: true ->
#else
    :: leader <= 0 ->
#endif
      leader = 0; taken_by = 1; taken_bit = proposed[0]; yes[AT(self, 0)] = true; may_die()
    :: else
    fi
  :: !decided && proposal[AT(1, self)] ->
    proposal[AT(1, self)] = false;
    if
    :: leader <= 1 -> leader = 1; taken_by = 2; taken_bit = proposed[1]; yes[AT(self, 1)] = true; may_die()
    :: else
    fi
  :: !decided && proposal[AT(2, self)] ->
    proposal[AT(2, self)] = false; leader = 2; taken_by = 3; taken_bit = proposed[2]; yes[AT(self, 2)] = true; may_die()
  /* Receives a decision. */
  :: !decided && decision[AT(0, self)] -> decided = true; taken_bit = proposed[0]
  :: !decided && decision[AT(1, self)] -> decided = true; taken_bit = proposed[1]
  :: !decided && decision[AT(2, self)] -> decided = true; taken_bit = proposed[2]
  /* lead(): the parts of all living processes have arrived. */
  :: !decided && leader == self && !proposing &&
     (part[AT(0, self)] || (known & 1)) && (part[AT(1, self)] || (known & 2)) && (part[AT(2, self)] || (known & 4)) ->
    d_step {
      proposing = true;
      latest = 0;
      all = true;
      i = 0;
      do
      :: i == N -> break
      :: else ->
        if
        :: part[AT(i, self)] && part_by[AT(i, self)] > latest ->
          latest = part_by[AT(i, self)]; taken_bit = part_bit[AT(i, self)]
        :: else
        fi;
        if
        :: part[AT(i, self)] && !flag[i] -> all = false
        :: else
        fi;
        i++
      od;
#ifdef BROKEN_FORGETS
      taken_bit = all;
#else
      if
      :: latest == 0 -> taken_bit = all
      :: else
      fi;
#endif
      proposed[self] = taken_bit;
      taken_by = self + 1;
      yes[AT(self, self)] = true;
      i = 0
    };
    do
    :: i == N -> break
    :: i < N && i == self -> i++
    :: i < N && i != self -> proposal[AT(self, i)] = true; i++; may_die()
    od;
    i = 0
  /* All living processes have accepted. */
#ifdef BROKEN_DECIDES_AT_ONCE
  :: !decided && leader == self && proposing ->
#else
  :: !decided && leader == self && proposing &&
     (yes[AT(0, self)] || (known & 1)) && (yes[AT(1, self)] || (known & 2)) && (yes[AT(2, self)] || (known & 4)) ->
#endif
    decided = true
  od;
  /* Sends the decision to all other processes before it returns. All decisions are the same, so it does not
   * matter which one it is. */
  atomic {
    assert(!outcome_known || outcome == taken_bit);
    outcome_known = true;
    outcome = taken_bit;
    proposed[self] = taken_bit
  };
#ifndef BROKEN_KEEPS_IT
  i = 0;
  do
  :: i == N -> break
  :: i < N -> decision[AT(self, i)] = true; i++; may_die()
  od;
#endif
died:
  skip
}

init {
  atomic { run Process(0); run Process(1); run Process(2) }
}
