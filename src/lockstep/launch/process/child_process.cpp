#include "lockstep/launch/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lockstep/base/error.h"
#include "lockstep/launch/process/reaper.h"

extern char** environ;

namespace lockstep::launch {
namespace {

constexpr int kExecTimeoutMs = 30'000;

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot open a pipe: {}", std::strerror(errno)),
                "raise the limit on open files (ulimit -n)");
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::string_view variable_name(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  all.insert(all.end(), changes.begin(), changes.end());
  std::vector<std::string> merged;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool replaced = std::any_of(
        all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(),
        [&](const std::string& later) { return variable_name(later) == variable_name(all[i]); });
    if (!replaced) merged.push_back(all[i]);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// All that the child needs between fork and exec, where it may not allocate.
struct Preparation {
  const char* path;
  char* const* arguments;
  char* const* environment;
  const ProcessSpec* spec;
  cpu_set_t cpus;
  pid_t parent;
  pid_t group;  ///< to join; 0 = a new one
  int input;
  int output;
  int errors;
  int report;  ///< gets errno when exec fails; closed by a successful exec
};

[[noreturn]] void become(const Preparation& prepared) {
  // The parent may exit before this child has asked the kernel for a signal in that case.
  const bool orphaned = ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != prepared.parent;
  if (orphaned) ::_exit(127);
  ::setpgid(0, prepared.group);
  ::dup2(prepared.input, STDIN_FILENO);
  ::dup2(prepared.output, STDOUT_FILENO);
  ::dup2(prepared.errors, STDERR_FILENO);
  for (const int fd : prepared.spec->inherited) ::fcntl(fd, F_SETFD, 0);
  if (!prepared.spec->cpus.empty()) {
    ::sched_setaffinity(0, sizeof prepared.cpus, &prepared.cpus);
  }
  if (prepared.spec->data_limit > 0) {
    const rlimit limit{prepared.spec->data_limit, prepared.spec->data_limit};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) std::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(prepared.path, prepared.arguments, prepared.environment);
  const int problem = errno;
  [[maybe_unused]] const auto written = ::write(prepared.report, &problem, sizeof problem);
  ::_exit(127);
}

/// With a reaper between this process and the program.
[[noreturn]] void become_reaper(Preparation prepared) {
  if (!prepare_reaper(prepared.parent)) ::_exit(127);
  ::setpgid(0, 0);
  const pid_t launcher = prepared.parent;
  const pid_t group = ::getpid();
  prepared.parent = group;
  prepared.group = group;
  const pid_t program = ::fork();
  if (program == 0) become(prepared);
  if (program > 0) run_reaper(launcher, program);
  const int problem = errno;
  [[maybe_unused]] const auto written = ::write(prepared.report, &problem, sizeof problem);
  ::_exit(127);
}

/// 0 once the child runs its program, else the errno of the attempt.
int exec_result(int report) {
  pollfd wanted{report, POLLIN, 0};
  while (true) {
    const int ready = ::poll(&wanted, 1, kExecTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return ETIMEDOUT;
    int problem = 0;
    const ssize_t got = ::read(report, &problem, sizeof problem);
    if (got < 0 && errno == EINTR) continue;
    return got == static_cast<ssize_t>(sizeof problem) ? problem : 0;
  }
}

cpu_set_t cpu_set(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

void keep_reading_without_blocking(const FileDescriptor& fd) {
  if (fd) ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    std::string candidate(rest.substr(0, end));
    candidate += "/" + name;
    if (end > 0 && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

ChildProcess ChildProcess::start(const ProcessSpec& spec) {
  const std::string path = find_program(spec.program).value_or(spec.program);
  std::vector<std::string> arguments{spec.program};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = merged_environment(spec.environment);
  const std::vector<char*> argument_list = pointers(arguments);
  const std::vector<char*> environment_list = pointers(environment);

  Pipe output = make_pipe();
  Pipe errors = spec.separate_errors ? make_pipe() : Pipe{};
  Pipe report = make_pipe();
  Pipe given = spec.input ? make_pipe() : Pipe{};
  const FileDescriptor input = spec.input
                                   ? std::move(given.read)
                                   : FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (spec.input && ::write(given.write.get(), spec.input->data(), spec.input->size()) !=
                        static_cast<ssize_t>(spec.input->size())) {
    throw Error(ErrorKind::kInternal, "the input for a process is too long");
  }
  const Preparation prepared{path.c_str(),
                             argument_list.data(),
                             environment_list.data(),
                             &spec,
                             cpu_set(spec.cpus),
                             ::getpid(),
                             0,
                             input.get(),
                             output.write.get(),
                             spec.separate_errors ? errors.write.get() : output.write.get(),
                             report.write.get()};
  const pid_t pid = ::fork();
  if (pid == 0 && spec.keep_descendants) become_reaper(prepared);
  if (pid == 0) become(prepared);
  if (pid < 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot start another process: {}", std::strerror(errno)),
                "raise the limit on processes (ulimit -u) or free memory");
  }
  ::setpgid(pid, pid);  // as the child does: the first call wins
  report.write.reset();
  ChildProcess child(pid, std::move(output.read), std::move(errors.read));
  if (const int problem = exec_result(report.read.get()); problem != 0) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("cannot start {}: {}", spec.program, std::strerror(problem)),
                "check that it is installed and executable");
  }
  child.input_ = std::move(given.write);
  child.stop_signal_ = spec.stop_signal;
  keep_reading_without_blocking(child.output_);
  keep_reading_without_blocking(child.errors_);
  return child;
}

ChildProcess::ChildProcess(pid_t pid, FileDescriptor output, FileDescriptor errors)
    : pid_(pid), output_(std::move(output)), errors_(std::move(errors)) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      input_(std::move(other.input_)),
      stop_signal_(other.stop_signal_),
      status_(other.status_) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || status_) return;
  signal(SIGKILL);
  reap();
}

void ChildProcess::ask_to_stop() const {
  if (!input_) return signal(stop_signal_);
  constexpr std::string_view kStop = "stop\n";
  // A reader that has exited is not an error: its end is noticed elsewhere. SIGPIPE is ignored by
  // programs that start others.
  [[maybe_unused]] const auto written = ::write(input_.get(), kStop.data(), kStop.size());
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0 && !status_) ::kill(-pid_, number);
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (status_ || pid_ < 0) return status_;
  siginfo_t info{};
  // WNOWAIT keeps the process id reserved until its group has been signalled.
  const int result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (result != 0 || info.si_pid == 0) return std::nullopt;
  signal(SIGKILL);
  reap();
  return status_;
}

void ChildProcess::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ExitStatus ended;
  if (WIFSIGNALED(status)) {
    ended.signal = WTERMSIG(status);
  } else {
    ended.code = WEXITSTATUS(status);
  }
  status_ = ended;
}

}  // namespace lockstep::launch
