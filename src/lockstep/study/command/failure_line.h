#pragma once

#include <string>
#include <string_view>

namespace lockstep::study {

/// Which line of a command's output says why it failed. Launchers (torchrun, srun, accelerate,
/// mp.spawn) end with lines of their own, so of Python programs it is the exception of a rank,
/// or what stood before the launcher's lines.
class FailureLine {
 public:
  void add(std::string_view line);

  /// The reason as a part of a sentence, "its error: ValueError: ..." or "its last line: ...".
  /// Empty without output.
  std::string text() const;

 private:
  std::string exception_;  ///< the last that is neither a launcher's nor due to another rank's end
  std::string any_exception_;
  std::string signal_;  ///< that ended a rank, by torchrun's report
  std::string last_line_;
  std::string last_summary_;  ///< where all lines are a launcher's
  bool in_traceback_ = false;
  int rulers_left_ = 0;  ///< until torchrun's report of failed ranks ends
};

}  // namespace lockstep::study
