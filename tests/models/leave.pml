/* The life of a collective region when processes die: RegionState in src/shm/layout.h, and take, leave and
 * leave_all in src/coll/region_pool.cpp. Process 0 takes the region for all, up to TURNS times; each member
 * that learns of it uses it and leaves. Up to DEATHS processes die, at any point. Survivors that notice a
 * death complete its unfinished work. In the end the region is free and clear.
 *
 * The announcement of the region reaches each process separately, or never. A counted member that has not
 * learned of the region leaves it when it knows that another counted member has died; a later announcement
 * has no effect (leave_without_id, accept). */

#define RANKS 3
#ifdef TWO_DEATHS
#define TURNS 1
#define DEATHS 2
#else
#define TURNS 2
#define DEATHS 1
#endif

#define FREE 0
#define TAKING 1
#define USED 2
#define CLEARING 3

byte stage;   /* the three parts of one word */
byte process;
byte turn;

bit present[RANKS]; /* in separate words */
bit dirty;
byte word[RANKS]; /* the generation of the region announced to a process, in flight; 0: none */
byte told[RANKS]; /* the generation that it has learned of and not left; 0: none */
bit uses[RANKS];
bit killed[RANKS];
bit dead[RANKS]; /* reported by the launcher */
byte heard[RANKS]; /* bit i: the death of process i that it has handled */
byte deaths;
byte takes;

/* clear(area, seen): the compare-exchange, the slots, give_back(). */
inline clear() {
  d_step {
#ifdef BROKEN_TURN
    done = (stage == seen_stage && process == seen_process);
#else
    done = (stage == seen_stage && process == seen_process && turn == seen_turn);
#endif
    if :: done -> stage = CLEARING; process = self :: else -> skip fi
  }
  if
  :: done ->
     assert(!(uses[0] && !killed[0]) && !(uses[1] && !killed[1]) && !(uses[2] && !killed[2]));
     d_step { dirty = 0; present[0] = 0; present[1] = 0; present[2] = 0 };
     d_step { stage = FREE; process = 0 }
  :: else -> skip
  fi
}

inline read_state() {
  d_step { seen_stage = stage; seen_process = process; seen_turn = turn }
}

inline forget() {
  d_step { seen_stage = 0; seen_process = 0; seen_turn = 0; done = 0; other = 0 }
}

inline clear_if_left() {
  read_state();
  if
  :: seen_stage == USED ->
     if
     :: present[0] -> skip
     :: else -> if :: present[1] -> skip :: else -> if :: present[2] -> skip :: else -> clear() fi fi
     fi
  :: else -> skip
  fi
}

inline leave(who) {
  d_step { done = present[who]; present[who] = 0 }
  if :: done -> clear_if_left() :: else -> skip fi
}

#ifdef BROKEN_UNTOLD
#define UNTOLD false
#else
/* All processes were counted, so any death that it knows of is that of a member. */
#define UNTOLD (stage == USED && present[self] && told[self] != turn && heard[self])
#endif

#define NEWS(who) (dead[who] && self != who && !((heard[self] >> who) & 1))

inline leave_all() {
  read_state();
  if
  :: seen_stage == USED ->
     leave(other);
#ifndef BROKEN_LAST
     clear_if_left()
#endif
#ifndef BROKEN_HAND
  :: (seen_stage == TAKING || seen_stage == CLEARING) && seen_process == other -> clear()
#endif
  :: else -> skip
  fi
}

proctype Rank(byte self) {
  byte seen_stage, seen_process, seen_turn, other;
  bit done;
  {
end:
    do
    :: self == 0 && takes < TURNS && stage == FREE && !told[0] && !heard[0] ->
       takes++;
       read_state();
       d_step {
         done = (seen_stage == FREE && stage == FREE && turn == seen_turn);
         if :: done -> stage = TAKING; process = self; turn++ :: else -> skip fi
       }
       if
       :: done ->
          assert(!dirty);
          d_step { present[0] = 1; present[1] = 1; present[2] = 1 };
          d_step { stage = USED; process = 0; told[0] = turn }
          word[1] = turn;
          word[2] = turn
       :: else -> skip
       fi;
       forget()
    :: word[self] -> /* accept() */
       d_step {
         if
#ifdef BROKEN_ACCEPT
         :: true ->
#else
         :: present[self] && turn == word[self] && stage == USED ->
#endif
            told[self] = word[self]
         :: else -> skip
         fi;
         word[self] = 0
       }
    :: word[self] && heard[self] -> word[self] = 0 /* its call has failed because of a death */
    :: UNTOLD ->
       leave(self);
       forget()
    :: told[self] ->
       uses[self] = 1;
       assert(stage == USED && turn == told[self]);
       dirty = 1;
       d_step { uses[self] = 0; told[self] = 0 }
       leave(self);
       forget()
    :: NEWS(0) || NEWS(1) || NEWS(2) -> /* leave_all() for each dead process, including earlier ones */
       d_step { heard[self] = dead[0] + 2 * dead[1] + 4 * dead[2]; other = 0 }
       do
       :: other == RANKS -> break
       :: else ->
          if
          :: other != self && ((heard[self] >> other) & 1) -> leave_all()
          :: else -> skip
          fi;
          other++
       od;
       forget()
    od
  } unless { killed[self] }
}

/* A process that is reported dead does nothing any more. */
#define ENDS(who) :: deaths < DEATHS && !killed[who] -> d_step { deaths++; killed[who] = 1; dead[who] = 1 }

proctype Launcher() {
end:
  do
  ENDS(0)
  ENDS(1)
  ENDS(2)
  od
}

init {
  atomic { run Rank(0); run Rank(1); run Rank(2); run Launcher() }
  timeout;
  assert(stage == FREE && !dirty)
}
