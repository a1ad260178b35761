#include "base/os_queue.h"

#include <csignal>
#include <utility>

namespace hearth::os {
namespace {

class Held {
 public:
  explicit Held(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Held() { pthread_mutex_unlock(&mutex_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

/// The new thread inherits the mask: signals go to the program's own threads.
bool start_without_signals(pthread_t& thread, void* (*main)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = pthread_create(&thread, nullptr, main, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

bool JobThread::post(Job& job) {
  const Held held(mutex_);
  if (!running_) {
    if (!start_without_signals(thread_, main, this)) return false;
    running_ = true;
    ending_ = false;
  }
  job.next_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_) = &job;
  last_ = &job;
  pthread_cond_signal(&posted_);
  return true;
}

void JobThread::stop() {
  {
    const Held held(mutex_);
    if (!running_) return;
    ending_ = true;
    pthread_cond_signal(&posted_);
  }
  pthread_join(thread_, nullptr);
  running_ = false;
}

void* JobThread::main(void* self) {
  static_cast<JobThread*>(self)->serve();
  return nullptr;
}

void JobThread::serve() {
  for (;;) {
    Job* job = nullptr;
    {
      const Held held(mutex_);
      while (first_ == nullptr && !ending_) pthread_cond_wait(&posted_, &mutex_);
      if (first_ == nullptr) return;
      job = std::exchange(first_, first_->next_);
      if (first_ == nullptr) last_ = nullptr;
    }
    job->run();
  }
}

}  // namespace hearth::os
