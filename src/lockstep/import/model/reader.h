#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/import/model/imported_run.h"
#include "lockstep/import/scan/input.h"
#include "lockstep/import/scan/text_scan.h"

namespace lockstep::import {

/// How sure a reader is that a file is of its format.
enum class Match {
  kNo,
  kPossible,  ///< looks like it; a reader that is surer goes first
  kLikely,    ///< lines that this format has and few others
  kCertain,   ///< a signature no other format has
};

/// The beginning of a file, for recognising it.
struct Sample {
  std::string_view text;  ///< the first bytes, whole lines unless the file ends
  bool complete = false;  ///< it is the whole file
  std::string_view name;  ///< file name without folders; may only break ties
};

/// A line as it was understood.
struct ExplainedLine {
  std::uint64_t number = 0;
  std::string text;
  std::size_t part = 0;  ///< of the file, from 0: a run, or what one rank printed of it
  std::string words;     ///< "epoch 3: train loss 0.41, epoch time 12.3 s"
};

/// Where a reader puts what it finds.
class ImportSink {
 public:
  /// A finished run. `format` is filled in by the caller.
  void add(ImportedRun run) { runs_.push_back(std::move(run)); }
  /// Something is wrong with the file but the rest can be used: one sentence with line or byte.
  void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }

  /// Asks readers to explain what they take from each line.
  void want_explanation() { explains_ = true; }
  bool explains() const { return explains_; }
  /// What was taken from a line; `part` counts the parts of the file that readers tell apart, from
  /// 0.
  void explain(std::uint64_t line, std::string_view text, std::size_t part, std::string words) {
    explained_.push_back({line, printable(text, 200), part, std::move(words)});
  }
  std::vector<ExplainedLine>& explained() { return explained_; }

  std::vector<ImportedRun>& runs() { return runs_; }
  std::vector<std::string>& warnings() { return warnings_; }

 private:
  std::vector<ImportedRun> runs_;
  std::vector<std::string> warnings_;
  std::vector<ExplainedLine> explained_;
  bool explains_ = false;
};

/// Reads one format. Stateless: one object serves every file, from any thread.
class Reader {
 public:
  virtual ~Reader() = default;
  /// As `--as` takes it: "pytorch-imagenet".
  virtual std::string_view name() const = 0;
  /// One line for `--list-formats`.
  virtual std::string_view description() const = 0;
  virtual Match recognise(const Sample& sample) const = 0;
  /// Reads to the end in fixed memory. Finds no run where there is none; throws kData with line or
  /// byte only when nothing of the file can be used.
  virtual void read(Input& input, ImportSink& sink) const = 0;
};

}  // namespace lockstep::import
