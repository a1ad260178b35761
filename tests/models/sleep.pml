/* Sleeping and waking of src/shm/wait.h, deaths of src/shm/liveness.cpp, and the loop of Engine::wait_until
 * and Engine::sleep_as_waiter around them, with a leader thread and a follower thread. One rank has two threads, each of
 * which waits for news of one waker; wakers may die at any step; the launcher reports deaths. Sleeps do not
 * time out here: the 100 ms after which every sleep ends are a backstop, not a way of waking.
 *
 * The news are packets, which any thread of the rank may receive. The news of waker 1 may also be a word for
 * which thread 1 waits (the lock of a window that is released): no thread receives it, only the condition of
 * thread 1 reads it.
 *
 * Processors as in x86-64: a store stays in its processor's store buffer until the buffer drains, in order;
 * loads do not wait for that. aarch64 needs no more: the same two fences order what it may reorder in
 * addition. */

#define WAKERS 2
#define THREADS 2

bool asleep = false;       /* RankBlock::asleep, in memory */
bool news[WAKERS];         /* the store of each waker, in memory */
bool news_buffered[WAKERS];
bool clear_buffered[WAKERS]; /* a store of 0 to `asleep`, after the news */
bool dead[WAKERS];
bool told[WAKERS];         /* reported by the launcher */

#define NOBODY 2
byte leader = NOBODY;      /* Engine::leader_: the thread that sleeps on `asleep` */
bool sleeping = false;     /* the leader is in the futex */
bool follows[THREADS];     /* is in Engine::followers_ */
bool naps[THREADS];        /* Waiter::asleep, and in the futex */
bool taken[WAKERS];        /* the rank has received it */
bool lock = false;         /* LibraryLock */
bool by_word;              /* thread 1 waits for a word, not for a packet */

/* The effect of a full fence, of a system call, or of the end of a process. */
inline drain(w) {
  if :: news_buffered[w] -> news[w] = true; news_buffered[w] = false :: else -> skip fi;
  if :: clear_buffered[w] -> asleep = false; clear_buffered[w] = false :: else -> skip fi
}

inline futex_wake() {
  sleeping = false
}

/* Buffers drain at any time, the oldest store first. */
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
  atomic { drain(self) } /* e, if fences_needed is set; otherwise a compiler fence only */
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
     told[w] = true; /* followed by a full fence: Liveness::publish() */
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
     /* sleep_as_waiter() */
     if
     :: leader != NOBODY -> /* follow() */
        atomic { naps[self] = true; follows[self] = true };
        lock = false;
        !naps[self];
        atomic { !lock -> lock = true };
        follows[self] = false
     :: else -> /* lead() */
#ifdef BROKEN_ORDER
        atomic { PROGRESS } /* polls for the last time before it announces the sleep */
#endif
        asleep = true; /* a: Sleeper::prepare(), with its own fence */
#ifndef FENCES
#ifndef BROKEN_BARRIER
        /* b: each processor executes a fence during the call. */
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
           /* No thread may stay asleep if this thread has received its news. */
           assert(!naps[1 - self] || !taken[1 - self]);
           lock = false;
           atomic { if :: asleep -> sleeping = true :: else -> skip fi } /* futex_wait() */
           !sleeping;
           atomic { !lock -> lock = true }
           leader = NOBODY;
           asleep = false; /* end() */
           atomic { WAKE_THREADS } /* earlier than before the next sleep; not required */
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
