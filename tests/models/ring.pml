/* The ring of src/shm/ring.h: one writer, one reader, packets of one or two slots, laps, pads, clearing, credit.
 * N slots instead of hundreds. A slot is its first word, which may be a commit word, and a value that stands
 * for the rest. The first word of a packet's second slot is payload and looks like a commit word of any lap.
 *
 * What the writer stores becomes visible in any order, but that a release comes after everything before it.
 * Loads of the reader are in order: all of them follow from an acquire.
 *
 * Commit word: lap (1..3) + 4 * kind; kind 1: one slot, 2: two slots, 3: pad. 0: of no lap. */

#ifndef N
#define N 4
#endif
#ifndef MESSAGES
#define MESSAGES 10 /* two laps and a half, or more */
#endif
#define PENDING_MAX 2 /* stores that are under way at once */
#define WORDS 8       /* 2 * N: first words, then values */
#if N != 4
#error WORDS is 2 * N
#endif

byte memory[WORDS];
/* Under way: the value, and which words must be visible before it. */
byte pending[WORDS];
short behind[WORDS];
short dirty = 0;
byte pending_count = 0;
short awaited = 0; /* words that stand before a release: not to be stored again until they are visible */

byte credit = 0; /* slots read, told by the reader; released, so that it is visible at once or later */
byte payload; /* of every second slot: a commit word of one of the laps */

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

/* The way of stores to the other process. */
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
  byte clean = 15; /* a bit for each slot */
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
#define ENOUGH FREE > WANTED /* one slot stays free: the one behind the packet may have to be cleared */
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
     /* claim(); refresh() looks as often as it takes. */
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
       /* spoil(): what lies in the further slots may look like anything when the writer comes there again. */
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
     atomic { (memory[place] & 3) == lap -> kind = memory[place] / 4 } /* peek(), as often as it takes */
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
