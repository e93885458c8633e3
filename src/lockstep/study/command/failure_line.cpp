#include "lockstep/study/command/failure_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace lockstep::study {
namespace {

/// "[rank1]: " and "[rank1]:[W...", as PyTorch writes before the lines of an exception,
/// "[default0]:" of torchrun, and "[rank 1/2] " of Lockstep.
std::string_view without_rank(std::string_view line) {
  if (line.starts_with("[rank ")) {
    const std::size_t end = line.find("] ");
    return end == std::string_view::npos ? line : line.substr(end + 2);
  }
  if (!line.starts_with("[rank") && !line.starts_with("[default")) return line;
  const std::size_t end = line.find("]:");
  if (end == std::string_view::npos) return line;
  line.remove_prefix(end + 2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

bool contains_any(std::string_view line, const auto& texts) {
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) {
    return line.find(text) != std::string_view::npos;
  });
}

constexpr std::string_view kEnded = " ended with exit code ";
constexpr std::string_view kError = "error: ";

/// An exception of the program that started the ranks.
bool is_of_launcher(std::string_view line) {
  constexpr std::array<std::string_view, 6> kNames{
      "ChildFailedError",       "CalledProcessError",     "SignalException",
      "ProcessRaisedException", "ProcessExitedException", "KeyboardInterrupt"};
  return contains_any(line, kNames);
}

/// What a rank reports when another one has ended.
bool is_due_to_a_peer(std::string_view line) {
  constexpr std::array<std::string_view, 7> kTexts{
      "onnection closed by peer", "onnection reset by peer", "roken pipe", "onnection refused",
      "ommunicator was aborted",  "emote process exited",    "emote peer"};
  return contains_any(line, kTexts);
}

/// Rulers, the hints below errors of Lockstep's own and how its ranks ended, and what torchrun and
/// Slurm write after a task has failed.
bool is_summary(std::string_view line) {
  if (line.starts_with("hint: ")) return true;
  if (line.starts_with("error: rank ") && contains_any(line, std::array{kEnded})) return true;
  if (line.find_first_not_of("=-*_ ") == std::string_view::npos) return true;
  constexpr std::array<std::string_view, 3> kTorchrun{
      "torch/distributed/elastic", "torch.distributed.elastic", "torch/distributed/run.py"};
  if (contains_any(line, kTorchrun)) return true;
  if (line.starts_with("slurmstepd: error: ***")) return true;
  if (!line.starts_with("srun: ")) return false;
  constexpr std::array<std::string_view, 4> kTexts{"Exited with exit code", "Terminating",
                                                   "Force Terminated", "Job step aborted"};
  return contains_any(line, kTexts);
}

}  // namespace

void FailureLine::add(std::string_view line) {
  if (line.empty()) return;
  const std::string_view own = without_rank(line);
  if (own.empty()) return;
  if (rulers_left_ > 0) {
    const std::size_t at = own.find("Signal ");
    if (at != std::string_view::npos && own.find(" received by PID") != std::string_view::npos)
      signal_ = own.substr(at);
    rulers_left_ -= own.starts_with("=====");
    return;
  }
  if (own.starts_with("Traceback (most recent call last)")) {
    in_traceback_ = true;
    return;
  }
  const bool indented = std::isspace(static_cast<unsigned char>(own.front())) != 0;
  if (in_traceback_ && indented) return;
  if (!std::exchange(in_traceback_, false)) {
    (is_summary(own) ? last_summary_ : last_line_) = own;
    return;
  }
  // The report of torchrun stands between two rulers.
  if (own.find("ChildFailedError") != std::string_view::npos) rulers_left_ = 2;
  if (is_of_launcher(own)) return;
  if (any_exception_.empty()) any_exception_ = own;
  if (!is_due_to_a_peer(own)) exception_ = own;
}

std::string FailureLine::text() const {
  if (!exception_.empty()) return "its error: " + exception_;
  if (!signal_.empty()) return "its error: " + signal_;
  if (!any_exception_.empty()) return "its error: " + any_exception_;
  const std::string& line = last_line_.empty() ? last_summary_ : last_line_;
  if (line.starts_with(kError)) return "its " + line;
  return line.empty() ? "" : "its last line: " + line;
}

}  // namespace lockstep::study
