/* Cooperative copy: src/single_copy/cooperative.cpp. A receiver opens its control block for one message after
 * the other. The sender of both joins at any time, takes fragments by compare-exchange, and may be refused by
 * the kernel or die with a fragment that it has taken. A fragment is one block; a message has BLOCKS of them.
 *
 * The sender's stores (the bytes, and what it adds to the count) become visible in any order unless one is a
 * release; the receiver's likewise. An addition, an exchange and a compare-exchange are atomic and visible at
 * once. */

#define BLOCKS 3
#define MESSAGES 2
#define UNDONE 100
#define CLAIM(mark, taken) ((mark) * 10 + (taken))

byte claim = 0;  /* CopyControlBlock::claim: mark and number of blocks taken */
byte copied = 0; /* CopyControlBlock::copied: blocks of the sender, UNDONE if it has failed to copy some */
byte invited = 0;      /* the last message with a request to the sender */
byte over = 0;         /* messages that are complete or were abandoned at the receiver */
bool sender_is_gone = false;
bool mortal;            /* whether the sender may die in this run */

/* The receive buffer as the receiver sees it: the message that each block contains. */
byte buffer[BLOCKS];
byte written[BLOCKS];  /* copies of each block of the message: one, unless all is copied again */
bool in_hand[BLOCKS];  /* the sender is about to write this block */

inline take_piece(mark, piece) {
  /* Acquire load, then compare-exchange; repeated if the other side was faster. */
  do
  :: true ->
     word = claim;
     if
     :: word / 10 != mark || word % 10 >= BLOCKS -> piece = BLOCKS; break
     :: else -> skip
     fi;
#ifdef BROKEN_EXCHANGE
     claim = CLAIM(mark, word % 10 + 1);
     piece = word % 10;
     break
#else
     atomic {
       if
       :: claim == word -> claim = CLAIM(mark, word % 10 + 1); piece = word % 10; break
       :: else -> skip
       fi
     }
#endif
  od
}

proctype Sender() {
  byte message;
  byte piece;
  byte word;
  byte answered = 0;

  do
  :: atomic { invited > answered -> message = answered + 1; answered = message }
     /* The sender may join late, when the receiver is at another message or has finished all of them. */
     do
     :: take_piece(message, piece);
        if
        :: piece == BLOCKS -> break
        :: else -> skip
        fi;
        /* The block is exposed until the receiver has finished with this message: no process writes to it
         * afterwards. */
        in_hand[piece] = true;
        if
        :: skip
        :: mortal -> goto died
        :: in_hand[piece] = false; copied = copied + UNDONE; break /* refused by the kernel */
        fi;
#ifdef BROKEN_REPORT
        copied = copied + 1; /* before the bytes are visible */
#endif
        atomic {
          assert(over < message); /* otherwise this is the buffer of the next message, or the program's */
          buffer[piece] = message;
          written[piece]++;
          in_hand[piece] = false
        }
#ifndef BROKEN_REPORT
        copied = copied + 1 /* release */
#endif
     od
  :: answered == MESSAGES -> break
  :: mortal -> goto died
  od;
  goto ended;
died:
  in_hand[0] = false; in_hand[1] = false; in_hand[2] = false;
ended:
  sender_is_gone = true
}

proctype Receiver() {
  byte message = 1;
  byte piece;
  byte word;
  byte own;
  byte taken;
  byte i;
  bool gone;
  bool whole;

  do
  :: message <= MESSAGES ->
     atomic {
       i = 0;
       do :: i < BLOCKS -> written[i] = 0; i++ :: else -> break od;
       i = 0
     }
     /* open_control_block() */
#ifdef BROKEN_CLEAR
     claim = CLAIM(message, 1);
     invited = message;
     copied = 0;
#else
     copied = 0;
     claim = CLAIM(message, 1); /* release */
     invited = message;         /* sent as a packet */
#endif
     piece = 0;
     own = 0;
     /* receive_pieces() */
     do
     :: piece < BLOCKS ->
        if
        :: buffer[piece] = message; written[piece]++; own++; take_piece(message, piece)
        :: /* Refused: the receiver takes all remaining blocks, so that the sender starts no other one. */
           atomic { taken = claim % 10; claim = CLAIM(message, BLOCKS) }
#ifndef BROKEN_CLOSE
           taken = taken - own - 1;
           gone = false;
           do
           :: atomic { copied >= UNDONE || copied >= taken -> break }
           :: atomic { sender_is_gone -> break }
           od;
#endif
           whole = false;
           goto next_way
        fi
     :: else -> break
     od;
     /* await_pieces(): checks now and then whether the sender is gone, and then reads the count once more. */
     do
     :: atomic { copied >= UNDONE -> whole = false; break }
     :: atomic { copied < UNDONE && copied >= BLOCKS - own -> whole = true; break }
     :: atomic { sender_is_gone && copied < BLOCKS - own -> whole = false; break }
     od;
     if
     :: whole ->
        atomic {
          i = 0;
          do
          :: i < BLOCKS -> assert(buffer[i] == message); assert(written[i] == 1); i++
          :: else -> break
          od;
          i = 0
        }
     :: else -> /* copies all blocks again */
        i = 0;
        do
        :: i < BLOCKS -> assert(!in_hand[i]); buffer[i] = message; i++
        :: else -> break
        od;
        i = 0
     fi;
next_way:
     /* The message takes another protocol, or the program gets its buffer back: no process may write to it
      * any more. */
     atomic {
       assert(!in_hand[0] && !in_hand[1] && !in_hand[2]);
       over = message;
       message++
     }
  :: else -> break
  od
}

init {
  atomic {
    select (mortal : 0 .. 1);
    run Sender();
    run Receiver()
  }
}
