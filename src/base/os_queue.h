// A thread that runs jobs in their order, beside the threads of the program: transfers of files that overlap
// with computation. It starts with the first job and handles no signals.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace hearth::os {

/// Base of a job. The poster keeps it alive until run() has returned.
class Job {
 public:
  virtual ~Job() = default;
  virtual void run() = 0;

 private:
  friend class JobThread;
  Job* next_ = nullptr;
};

/// Any thread may call post(). stop() ends the thread after all jobs; later jobs start a new one.
class JobThread {
 public:
  /// False if the system gives no thread: the caller runs the job itself.
  bool post(Job& job);
  void stop();

 private:
  static void* main(void* self);
  void serve();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t posted_ = PTHREAD_COND_INITIALIZER;
  pthread_t thread_ = {};
  bool running_ = false;
  bool ending_ = false;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
};

}  // namespace hearth::os
