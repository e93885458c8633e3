#pragma once

#include <string>

#include "lockstep/report/render/table.h"

namespace lockstep::report {

// The formats behind render(); each expects one cell a column.
std::string render_text(const Table& table, const RenderOptions& options);
std::string render_markdown(const Table& table, const RenderOptions& options);
std::string render_csv(const Table& table);
std::string render_json(const Table& table);
std::string render_latex(const Table& table, const RenderOptions& options);

/// "epoch time (s)".
std::string header_with_unit(const Column& column);

/// What a person sees in a cell: one printable line, "-" when unknown.
std::string shown(const Cell& cell);

}  // namespace lockstep::report
