/* The ring of src/shm/ring.h: one writer, one reader, packets of one or two slots, laps, pads, clearing,
 * credit. N slots instead of hundreds. A slot is its first word, which may be a commit word, and a value that
 * stands for the rest. The first word of a packet's second slot is payload and looks like a commit word of
 * any lap.
 *
 * The writer's stores become visible in any order, except that a release follows everything before it. The
 * reader's loads are in order, because all of them follow an acquire.
 *
 * Commit word: lap (1..3) + 4 * kind; kind 1: one slot, 2: two slots, 3: pad. 0: of no lap. */

#ifndef N
#define N 4
#endif
#ifndef MESSAGES
#define MESSAGES 10 /* two and a half laps or more */
#endif
#define PENDING_MAX 2 /* stores in flight at once */
#define WORDS 8       /* 2 * N: first words, then values */
#if N != 4
#error WORDS is 2 * N
#endif

byte memory[WORDS];
/* Stores in flight: the value, and the words that must be visible before it. */
byte pending[WORDS];
short behind[WORDS];
short dirty = 0;
byte pending_count = 0;
short awaited = 0; /* words before a release: not stored again until they are visible */

byte credit = 0; /* slots read, published by the reader with a release, so it is visible at once or later */
byte payload; /* first word of every second slot: a commit word of one of the laps */

#define BIT(w) (1 << (w))

inline store(w, value) {
  atomic {
    (pending_count < PENDING_MAX || (dirty & BIT(w))) && !(awaited & BIT(w)) ->
    if
    :: dirty & BIT(w) -> skip
    :: else -> dirty = dirty | BIT(w); pending_count++; behind[w] = 0
    fi;
    pending[w] = value
  }
}

inline store_release(w, value) {
#ifdef BROKEN_RELEASE
  store(w, value)
#else
  atomic {
    pending_count < PENDING_MAX && !(dirty & BIT(w)) ->
    behind[w] = dirty;
    awaited = awaited | dirty;
    dirty = dirty | BIT(w);
    pending_count++;
    pending[w] = value
  }
#endif
}

/* Stores become visible to the other process. */
proctype Caches() {
  byte w;
  byte other;
end:
  do
  :: atomic {
       dirty != 0 ->
       select (w : 0 .. WORDS - 1);
       if
       :: (dirty & BIT(w)) && (behind[w] & dirty) == 0 ->
          memory[w] = pending[w];
          dirty = dirty & ~BIT(w);
          pending_count--;
          pending[w] = 0;
          behind[w] = 0;
          awaited = 0;
          other = 0;
          do
          :: other < WORDS -> behind[other] = behind[other] & ~BIT(w); awaited = awaited | behind[other]; other++
          :: else -> break
          od;
          other = 0
       :: else -> skip
       fi;
       w = 0
     }
  od
}

proctype Writer() {
  byte place = 0;
  byte stop = N;
  byte lap = 1;
  byte base = 0;
  byte consumed = 0;
  byte clean = 15; /* bit i: slot i is clear */
  byte next = 0;
  byte slots;
  byte first;
  byte kind;
  byte word;

#define FREE (consumed + N - (base + place))
#define RENEW if :: FREE < N - place -> stop = place + FREE :: else -> stop = N fi
#define WANTED (slots <= N - place -> slots : N - place + slots)
#ifdef BROKEN_ROOM
#define ENOUGH FREE + 1 >= WANTED
#else
#define ENOUGH FREE > WANTED /* one slot stays free: the slot behind the packet may have to be cleared */
#endif

  do
  :: next < MESSAGES ->
     atomic {
       if
       :: slots = 1
       :: slots = 2
       fi;
       kind = slots
     }
     /* claim(); refresh() is repeated as often as needed. */
     atomic {
       if
       :: place + slots < stop -> skip
       :: else ->
          do
          :: ENOUGH -> break
          :: !(ENOUGH) -> (credit != consumed) -> consumed = credit; RENEW
          od;
          if
          :: slots > N - place -> kind = 3
          :: else -> skip
          fi
       fi
     }
again:
     if
     :: kind != 3 ->
        store(N + place, next + 1 + 16 * slots);
        if
        :: kind == 2 -> store(place + 1, payload)
        :: else -> skip
        fi
     :: else -> skip
     fi;
     /* publish() */
     atomic {
       word = lap + 4 * kind;
       first = place;
       if
       :: kind == 3 -> place = N
       :: else -> place = place + slots
       fi;
       /* spoil(): the further slots may contain anything when the writer reaches them again. */
       clean = clean & ~((1 << place) - (1 << (first + 1)));
       if
       :: place == N -> place = 0; base = base + N; lap = lap % 3 + 1; RENEW
       :: else -> skip
       fi
     }
#ifndef BROKEN_CLEAR
     if
     :: place != 0 && !(clean & BIT(place)) -> store(place, 0); clean = clean | BIT(place)
     :: else -> skip
     fi;
#endif
     store_release(first, word);
     /* take_next_line() */
     if
     :: ((place + 2) & 62) < stop -> store(((place + 2) & 62), 0); clean = clean | BIT((place + 2) & 62)
     :: else -> skip
     fi;
     if
     :: kind == 3 -> kind = slots; goto again
     :: else -> next++
     fi
  :: else -> break
  od
}

proctype Reader() {
  byte place = 0;
  byte stop;
  byte lap = 1;
  byte base = 0;
  byte published = 0;
  byte next = 0;
  byte kind;

#define QUARTER 1 /* of the slots */
#define TAIL (base + place)
#define STOP                                                                               \
  if                                                                                       \
  :: QUARTER - (TAIL - published) < N - place -> stop = place + QUARTER - (TAIL - published) \
  :: else -> stop = N                                                                      \
  fi
#define TURN                                                                   \
  if :: place == N -> place = 0; base = base + N; lap = lap % 3 + 1 :: else -> skip fi; \
  if :: TAIL - published >= QUARTER -> credit = TAIL; published = TAIL :: else -> skip fi; \
  STOP

  STOP;
  do
  :: next < MESSAGES ->
     atomic { (memory[place] & 3) == lap -> kind = memory[place] / 4 } /* peek(), repeated */
     if
     :: kind == 3 -> atomic { place = N; TURN }
     :: else ->
#ifdef BROKEN_CREDIT
        if :: TAIL + kind - published >= QUARTER -> credit = TAIL + kind :: else -> skip fi;
#endif
        assert(memory[N + place] == next + 1 + 16 * kind);
        if
        :: kind == 2 -> assert(memory[place + 1] == payload)
        :: else -> skip
        fi;
        atomic {
          next++;
          place = place + kind;
          if :: place >= stop -> TURN :: else -> skip fi
        }
     fi
  :: else -> break
  od
}

init {
  atomic {
    select (payload : 5 .. 7);
    run Caches();
    run Writer();
    run Reader()
  }
}
