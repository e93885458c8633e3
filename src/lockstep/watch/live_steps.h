#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lockstep/record/event.h"
#include "lockstep/watch/rank_record.h"

namespace lockstep::watch {

/// Follows the records of a watched run while it goes on: how far its lowest rank is. Reads only
/// what was added since the last look. Not thread-safe.
class LiveSteps {
 public:
  /// `records`: see WatchFolder::records(); need not exist yet.
  explicit LiveSteps(std::filesystem::path records) : folder_(std::move(records)) {}

  /// Where training is now; nothing when there is no news. Never throws: a file that cannot be read
  /// is no news.
  std::optional<record::Progress> poll();

  /// The epochs for which the program has logged figures since the last call, with what is known of
  /// them by now. After poll().
  std::vector<record::EpochResult> logged_epochs();

  /// Steps that are recorded so far.
  std::int64_t steps() const { return steps_; }

  /// What the examples are called: "images/s"; "examples/s" until it is known.
  std::string rate_unit() const;

 private:
  void find_file();
  void take(const WatchedStep& step);
  void take(const LoggedFigure& figure);

  std::filesystem::path folder_;
  std::filesystem::path file_;  ///< of the lowest rank
  int rank_ = 0;                ///< that rank
  std::uintmax_t read_ = 0;     ///< bytes of it
  std::string rest_;            ///< of a line that is not complete yet
  std::optional<RankRecord> record_;
  record::Progress now_;
  std::int64_t steps_ = 0;
  std::int64_t epoch_began_ = 0;    ///< step number
  std::int64_t longest_epoch_ = 0;  ///< steps of the longest epoch that is complete
  std::int64_t examples_ = 0;       ///< of this rank since the last look
  double seconds_ = 0;              ///< that they took
  bool examples_known_ = true;
  std::map<int, record::EpochResult> epochs_;
  std::set<int> logged_;  ///< epochs with figures that logged_epochs() has not given out
  double losses_ = 0;     ///< sum of the training losses logged since the last look
  std::int64_t loss_count_ = 0;
};

/// "epoch 2, step 57/469, 1,234 images/s".
std::string progress_text(const record::Progress& progress, const std::string& rate_unit);

}  // namespace lockstep::watch
