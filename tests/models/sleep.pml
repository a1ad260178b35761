/* Sleeping and waking of src/shm/wait.h, deaths of src/shm/liveness.cpp, and the loop of Engine::wait_until and
 * Engine::doze around them, where one thread leads and the other follows. One rank with two threads, each of which waits for news of one waker; wakers that
 * may die at any step; the launcher, which tells deaths. Nobody wakes by the clock here: the 100 ms after which
 * every sleep ends are a backstop and not a way of waking.
 *
 * The news are packets, which any thread of the rank takes in. Those of waker 1 may also be a word that
 * thread 1 waits for (the lock of a window that is released): no thread takes it in, only the condition of
 * thread 1 reads it.
 *
 * Processors as in x86-64: a store lies in its processor's buffer until that drains, in order; loads do not
 * wait for it. aarch64 needs no more: what it may reorder besides is ordered by the same two fences. */

#define WAKERS 2
#define THREADS 2

bool asleep = false;       /* RankBlock::asleep, in memory */
bool news[WAKERS];         /* what each waker has stored, in memory */
bool news_buffered[WAKERS];
bool clear_buffered[WAKERS]; /* a store of 0 to `asleep`, behind the news */
bool dead[WAKERS];
bool told[WAKERS];         /* by the launcher */

#define NOBODY 2
byte leader = NOBODY;      /* Engine::leader_: who sleeps on `asleep` */
bool sleeping = false;     /* it does so, in the futex */
bool follows[THREADS];     /* is in Engine::followers_ */
bool naps[THREADS];        /* Waiter::asleep, and in the futex */
bool taken[WAKERS];        /* the rank has taken this in */
bool lock = false;         /* LibraryLock */
bool by_word;              /* thread 1 waits for a word, not for a packet */

/* What a full fence does, or a system call, or the end of a process. */
inline drain(w) {
  if :: news_buffered[w] -> news[w] = true; news_buffered[w] = false :: else -> skip fi;
  if :: clear_buffered[w] -> asleep = false; clear_buffered[w] = false :: else -> skip fi
}

inline futex_wake() {
  sleeping = false
}

/* Buffers drain by themselves at any time, the oldest store first. */
proctype Buffers() {
end:
  do
  :: atomic { news_buffered[0] -> news[0] = true; news_buffered[0] = false }
  :: atomic { news_buffered[1] -> news[1] = true; news_buffered[1] = false }
  :: atomic { !news_buffered[0] && clear_buffered[0] -> asleep = false; clear_buffered[0] = false }
  :: atomic { !news_buffered[1] && clear_buffered[1] -> asleep = false; clear_buffered[1] = false }
  od
}

#define MAY_DIE if :: skip :: goto died fi

proctype Waker(byte self) {
  bool seen;
  MAY_DIE;
  news_buffered[self] = true; /* d */
  MAY_DIE;
#ifdef FENCES
  atomic { drain(self) } /* e, where fences_needed is set; else the compiler's only */
#endif
  seen = asleep; /* f */
  if
  :: seen ->
     MAY_DIE;
     clear_buffered[self] = true;
     MAY_DIE;
     atomic { drain(self); futex_wake() }
  :: else -> skip
  fi;
  goto over;
died:
  atomic { drain(self); dead[self] = true }
over:
  skip
}

proctype Launcher() {
  byte w;
end:
  do
  :: atomic {
       (dead[0] && !told[0]) || (dead[1] && !told[1]) ->
       if
       :: dead[0] && !told[0] -> w = 0
       :: dead[1] && !told[1] -> w = 1
       fi
     }
     told[w] = true; /* then a full fence: Liveness::tell() */
#ifndef BROKEN_TELL
     asleep = false;
     atomic { futex_wake() }
#endif
  od
}

#define VISIBLE(w) ((news[w] && !(by_word && w == 1)) || told[w])
/* Engine::Over: the wait of thread t, which waits for waker t, is over. */
#define OVER(t) (taken[t] || (by_word && t == 1 && news[1]))

/* Engine::wake_threads() */
#ifdef BROKEN_OWN_THREADS
#define WAKE_THREADS skip
#else
#define WAKE_THREADS                                                                   \
  if                                                                                   \
  :: leader != NOBODY && OVER(leader) && asleep -> asleep = false; futex_wake()        \
  :: else -> skip                                                                      \
  fi;                                                                                  \
  if :: follows[0] && OVER(0) -> naps[0] = false :: else -> skip fi;                   \
  if :: follows[1] && OVER(1) -> naps[1] = false :: else -> skip fi
#endif

proctype Thread(byte self) {
  bool moved;

#define PROGRESS                                                          \
  moved = (VISIBLE(0) && !taken[0]) || (VISIBLE(1) && !taken[1]);         \
  taken[0] = taken[0] || VISIBLE(0);                                      \
  taken[1] = taken[1] || VISIBLE(1);                                      \
  if :: moved -> WAKE_THREADS :: else -> skip fi

  do
  :: atomic { !lock -> lock = true }
round:
     atomic { PROGRESS }
     if
     :: OVER(self) ->
#ifndef BROKEN_SUCCESSION
        atomic { if :: leader == NOBODY && follows[1 - self] -> naps[1 - self] = false :: else -> skip fi }
#endif
        lock = false;
        break
     :: else -> skip
     fi;
     if
     :: moved -> goto round
     :: else -> skip
     fi;
     /* doze() */
     if
     :: leader != NOBODY -> /* follow() */
        atomic { naps[self] = true; follows[self] = true };
        lock = false;
        !naps[self];
        atomic { !lock -> lock = true };
        follows[self] = false
     :: else -> /* lead() */
#ifdef BROKEN_ORDER
        atomic { PROGRESS } /* the last look, and only then the announcement */
#endif
        asleep = true; /* a: Sleeper::prepare(), with its own fence */
#ifndef FENCES
#ifndef BROKEN_BARRIER
        /* b: each processor fences at some moment of the call. */
        atomic { drain(0) }
        atomic { drain(1) }
#endif
#endif
#ifndef BROKEN_ORDER
        atomic { PROGRESS } /* c */
#endif
        if
        :: moved -> asleep = false /* end() */
#ifndef BROKEN_CONDITIONS
        :: !moved && OVER(self) -> asleep = false /* likewise */
        :: !moved && !OVER(self) ->
           atomic { WAKE_THREADS };
#else
        :: !moved ->
#endif
           leader = self;
           /* Nobody may be left to sleep on what this thread has taken in for it. */
           assert(!naps[1 - self] || !taken[1 - self]);
           lock = false;
           atomic { if :: asleep -> sleeping = true :: else -> skip fi } /* futex_wait() */
           !sleeping;
           atomic { !lock -> lock = true }
           leader = NOBODY;
           asleep = false; /* end() */
           atomic { WAKE_THREADS } /* earlier than before the next sleep; not needed */
        fi
     fi;
     lock = false
  od
}

init {
  atomic {
    if :: by_word = true :: by_word = false fi;
    run Buffers();
    run Waker(0);
    run Waker(1);
    run Launcher();
    run Thread(0);
    run Thread(1)
  }
}
