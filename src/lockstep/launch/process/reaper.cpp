#include "lockstep/launch/process/reaper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

namespace lockstep::launch {
namespace {

constexpr int kLauncherDied = SIGUSR1;

sigset_t reaper_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, kLauncherDied);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

/// Kills the current children of this process, as many as fit the buffer.
void kill_children() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(::getpid()));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];
  const ssize_t size = ::read(fd, text, sizeof text);
  ::close(fd);
  // The list ends each number with a space; one that was cut off is found the next time.
  pid_t pid = 0;
  for (ssize_t i = 0; i < size; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      pid = pid * 10 + (text[i] - '0');
    } else if (pid > 0) {
      ::kill(pid, SIGKILL);
      pid = 0;
    }
  }
}

/// Children of the killed become children of this process in turn. Bounded, in case one of them
/// forks faster than it is killed.
[[noreturn]] void end_all() {
  for (int round = 0; round < 10'000; ++round) {
    kill_children();
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) break;
    ::usleep(1000);
  }
  ::_exit(127);
}

/// Pipes and sockets of the launcher must not stay open here. By number: the C function is newer
/// than some systems, and the call than Linux 5.9.
void close_all() {
  if (::syscall(SYS_close_range, 0U, ~0U, 0U) == 0) return;
  rlimit open_files{1024, 1024};
  ::getrlimit(RLIMIT_NOFILE, &open_files);
  // A limit of a million would take a second: descriptors are handed out from below.
  const auto most = static_cast<int>(std::min<rlim_t>(open_files.rlim_cur, 65'536));
  for (int descriptor = 0; descriptor < most; ++descriptor) ::close(descriptor);
}

[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int number = WTERMSIG(status);
  std::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::raise(number);
  ::_exit(128 + number);
}

}  // namespace

bool prepare_reaper(pid_t launcher) {
  const sigset_t set = reaper_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return ::prctl(PR_SET_PDEATHSIG, kLauncherDied) == 0 && ::getppid() == launcher;
}

void run_reaper(pid_t launcher, pid_t program) {
  // Signals to the process group are meant for the program.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(number, SIG_IGN);
  close_all();
  const sigset_t set = reaper_signals();
  while (true) {
    ::sigwaitinfo(&set, nullptr);
    if (::getppid() != launcher) end_all();
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == program) end_like(status);
    }
  }
}

}  // namespace lockstep::launch
