#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/log_facts.h"
#include "lockstep/import/model/reader.h"
#include "lockstep/import/readers/transcript/block.h"
#include "lockstep/import/readers/transcript/epoch_mark.h"
#include "lockstep/import/readers/transcript/value_lists.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/tqdm_bar.h"

namespace lockstep::import {

/// Cuts the lines that one process wrote into blocks. A block ends where
/// - a fact is stated with another value ("Batch size per GPU: 128" after 32);
/// - the epochs begin again with other figures;
/// - the program starts again, or a heading precedes epochs that begin again.
/// A heading keeps the facts stated before its own kind in the block above (the outer loops) and
/// drops those stated after it (the inner ones).
class Segments {
 public:
  /// `rank` is named in explanations; -1 where lines name none.
  explicit Segments(ImportSink* explain, int rank = -1) : explain_(explain), rank_(rank) {}

  void line(const Line& line);
  /// A line that another process, or the launcher, wrote: only what it states counts.
  void context(std::string_view text);
  /// The blocks in their order. Called once.
  std::vector<Block> finish();
  /// "training time" was printed beside a longer time of the same epoch.
  bool training_is_part() const { return training_is_part_; }
  /// An epoch's line was printed twice, word for word: two processes call themselves the same.
  bool repeats() const { return repeats_; }
  LogFacts& whole_file() { return whole_file_; }

 private:
  /// A line without what a logger wrote in front of it.
  void message(const Line& line);
  void marked_line(const Line& line, const EpochMark& mark);
  void plain_line(const Line& line);
  bool summary_line();
  bool spans_epochs(const TqdmBar& bar);
  bool progress_bar(const Line& line, const TqdmBar& bar);
  bool step_below_epoch(const Line& line);
  void step_line(const Line& line, std::int64_t step, std::size_t end);
  bool list_line(const Line& line);
  void take_lists();
  void state(const std::vector<StatedFact>& facts, bool has_figures);
  void open(const StatedFact* fact);
  void put(const StatedFact& fact);
  void end_block();
  bool restarts(std::int64_t epoch) const;
  void settle_pending(bool restart);
  bool memory_ran_out(const Line& line);
  void note_parts();
  void look_for_heading(std::string_view text);
  void take_words_above();
  void settle_words_above();
  void tell(const Line& line, const std::string& words);
  void tell_figures(const Line& line);

  struct Entry {
    StatedFact fact;
    bool here = false;  ///< stated in this block, not handed down
  };
  ImportSink* explain_;
  int rank_;
  std::vector<Entry> scene_;
  std::vector<StatedFact> pending_;  ///< stated after figures: of this block or of the next
  std::vector<StatedFact> found_;
  std::vector<LineFigure> figures_;
  std::vector<Block> done_;
  Block block_;
  LogFacts whole_file_;
  MetricCache metrics_;
  Split above_ = Split::kNone;
  std::int64_t cursor_ = -1;
  std::int64_t last_step_ = -1;
  int group_ = 0;
  bool went_back_ = false;  ///< the epoch's number fell; a conflict then begins a new block
  bool epoch_closed_ =
      false;  ///< the line that names the epoch has its results: steps below are not its
  bool header_only_ = false;  ///< the last mark had no figures: a progress bar after it is its own
  bool after_separator_ = false;
  std::string heading_;  ///< the last one that a rule above it showed to be one
  enum class Ruled { kNone, kRule, kText };
  Ruled ruled_ = Ruled::kNone;  ///< whether the last line was a rule, or the text below one
  std::string words_above_;     ///< between rules, since the last first epoch
  int headings_below_ = 0;      ///< between rules, since the last figure
  bool training_is_part_ = false;
  bool repeats_ = false;
  std::string last_header_;  ///< the last line that named an epoch and had no figures
  std::string joined_;       ///< a line without the epoch between a figure and its name
  std::optional<TqdmBar> held_bar_;
  struct SeenBar {
    std::int64_t done = 0;
    std::int64_t epoch = -1;  ///< in which it was seen first
    bool spans = false;       ///< it was seen in another one as well
  };
  std::map<std::int64_t, SeenBar> bars_;  ///< by their length
  ValueLists lists_;
};

}  // namespace lockstep::import
