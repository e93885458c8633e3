#pragma once

#include <cstddef>

namespace lockstep {

/// Columns of the terminal that stdout is; 0 when it is none, so that files get whole lines.
std::size_t terminal_width();

/// Whether a person can answer a question: stdin and stderr are terminals.
bool can_ask();

}  // namespace lockstep
