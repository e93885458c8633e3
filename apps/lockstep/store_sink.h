#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "console.h"
#include "lockstep/base/error.h"
#include "lockstep/store/run_writer.h"
#include "run_sink.h"

namespace lockstep::cli {

/// Writes a run into the store. A store that cannot be written to is found out before the run
/// begins; one that fails later, for example on a full disk, does not end the run: it is told once,
/// and again by check().
class StoreSink final : public RunSink {
 public:
  /// Throws kData when the store cannot be written to.
  StoreSink(const std::string& path, Console& console, store::RunLabel label = {});

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
  store::RunWriter writer_;
  bool has_start_ = false;
  std::optional<Error> failure_;
};

}  // namespace lockstep::cli
