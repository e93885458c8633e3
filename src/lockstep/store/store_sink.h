#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/record/run_sink.h"
#include "lockstep/store/run_writer.h"

namespace lockstep::store {

/// What is to happen when a run is complete in a store, for example a summary of its steps. Errors
/// of kind kData are ignored: the run itself is complete.
using AfterRun = std::function<void(const std::string& store_path, std::int64_t run)>;

/// Writes a run into the store. A store that cannot be written to is reported before the run
/// begins; a later failure, for example a full disk, does not end the run: a warning is printed
/// once, and check() throws.
class StoreSink final : public record::RunSink {
 public:
  /// Throws kData when the store cannot be written to.
  StoreSink(const std::string& path, Console& console, RunLabel label = {}, AfterRun after = {});

  void write(const record::Event& event) override;

  /// 0 until the run has begun.
  std::int64_t run_id() const { return writer_.run_id(); }
  /// "run 3 in lockstep.db", once the run has begun.
  std::string place() const;
  /// Throws kData when something of the run is missing in the store.
  void check() const;

 private:
  std::string path_;
  Console& console_;
  RunWriter writer_;
  AfterRun after_;
  bool has_start_ = false;
  std::optional<Error> failure_;
};

}  // namespace lockstep::store
