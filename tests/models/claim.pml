/* Copying together: src/single_copy/cooperative.cpp. A receiver opens its desk for one message after the other;
 * the sender of both comes when it likes, takes pieces by compare-exchange, and may be refused by the system or
 * die with a piece in its hands. Pieces are one block long, a message has BLOCKS of them.
 *
 * The sender's stores (the bytes, what it adds to the count) become visible in any order unless one is a
 * release; the receiver's likewise. An addition, an exchange and a compare-exchange are at once. */

#define BLOCKS 3
#define MESSAGES 2
#define UNDONE 100
#define CLAIM(mark, taken) ((mark) * 10 + (taken))

byte claim = 0;  /* CopyDesk::claim: mark and blocks taken */
byte copied = 0; /* CopyDesk::copied: blocks of the sender, UNDONE when it has left some */
byte invited = 0;      /* the last message that the sender was invited to */
byte over = 0;         /* messages that are whole, or were given up, at the receiver */
bool sender_is_gone = false;
bool mortal;            /* whether the sender may die in this run */

/* The receive buffer: which message each block has, as the receiver sees it. */
byte buffer[BLOCKS];
byte written[BLOCKS];  /* times that a block of the message was copied: once, unless all is copied again */
bool in_hand[BLOCKS];  /* the sender is about to write this block */

inline take_piece(mark, piece) {
  /* acquire load, then compare-exchange; again where another was faster */
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
     /* It may come long after: the receiver is at another message then, or through with all. */
     do
     :: take_piece(message, piece);
        if
        :: piece == BLOCKS -> break
        :: else -> skip
        fi;
        /* Lent until the receiver has finished with this message: nobody writes there afterwards. */
        in_hand[piece] = true;
        if
        :: skip
        :: mortal -> goto died
        :: in_hand[piece] = false; copied = copied + UNDONE; break /* the system refuses */
        fi;
#ifdef BROKEN_REPORT
        copied = copied + 1; /* before the bytes are there */
#endif
        atomic {
          assert(over < message); /* else this is the next message's buffer, or the program's */
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
     /* open_desk() */
#ifdef BROKEN_CLEAR
     claim = CLAIM(message, 1);
     invited = message;
     copied = 0;
#else
     copied = 0;
     claim = CLAIM(message, 1); /* release */
     invited = message;         /* by a packet */
#endif
     piece = 0;
     own = 0;
     /* receive_pieces() */
     do
     :: piece < BLOCKS ->
        if
        :: buffer[piece] = message; written[piece]++; own++; take_piece(message, piece)
        :: /* Refused: all that is left is taken, so that nobody else begins. */
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
     /* await_pieces(): asks now and then whether the sender is gone, and then looks once more. */
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
     :: else -> /* all of it once more */
        i = 0;
        do
        :: i < BLOCKS -> assert(!in_hand[i]); buffer[i] = message; i++
        :: else -> break
        od;
        i = 0
     fi;
next_way:
     /* The buffer goes another way, or back to the program: nobody writes to it any more. */
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
