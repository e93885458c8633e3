#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::import {

/// A table as pandas prints it: names, then lines of an index and one value per name.
struct PrintedFrame {
  std::uint64_t line = 0;  ///< of its names, from 1
  std::vector<std::string> columns;
  std::vector<std::string> index;
  std::vector<std::vector<std::string>> rows;  ///< values by column, as printed
};

/// The frames of a text. One that pandas broke into several because of its width (names that end
/// with a backslash) is put together again. Only lines that have exactly as many values as there
/// are names belong to a frame: what text recognition or a terminal tore apart is left out.
std::vector<PrintedFrame> find_frames(std::string_view text);

}  // namespace lockstep::import
