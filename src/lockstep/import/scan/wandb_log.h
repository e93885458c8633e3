#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockstep/import/scan/input.h"

namespace lockstep::import {

/// Whether `bytes` begin as the record of a Weights & Biases run does.
bool is_wandb_log(std::string_view bytes);

/// Cuts a run-*.wandb file into its records: after a head of 7 bytes blocks of 32 KB, in which each
/// piece has a checksum, a length and a type (whole, first, middle, last), as in a LevelDB log.
class WandbLog {
 public:
  explicit WandbLog(Input& input);

  /// One protocol buffer message. False at the end and where the file is damaged or broken off.
  bool next(std::string& record);

  /// What is wrong with the file, one sentence with the byte; empty when sound.
  const std::string& problem() const { return problem_; }

 private:
  std::size_t take(char* data, std::size_t size);
  bool fail(const char* what);

  Input& input_;
  std::string problem_;
};

}  // namespace lockstep::import
