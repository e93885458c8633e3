#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/analyze/configuration.h"
#include "lockstep/report/render/table.h"

namespace lockstep::report {

/// Builds a table row by row from columns that each fill their cell; columns that stay
/// unknown in every row are dropped, unless they are kept.
template <class Row>
class TableBuilder {
 public:
  using Fill = std::function<Cell(const Row&)>;

  TableBuilder& column(Column column, Fill fill) {
    columns_.push_back(std::move(column));
    fills_.push_back(std::move(fill));
    return *this;
  }

  /// The columns so far name the row.
  TableBuilder& end_of_labels() {
    labels_ = columns_.size();
    return *this;
  }

  Table build(std::string title, const std::vector<Row>& rows) const {
    Table table;
    table.title = std::move(title);
    table.rows.resize(rows.size());
    std::size_t labels = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      std::vector<Cell> cells;
      bool known = false;
      for (const Row& row : rows) {
        cells.push_back(fills_[c](row));
        known |= !cells.back().unknown();
      }
      if (!known) continue;
      if (c < labels_) ++labels;
      table.columns.push_back(columns_[c]);
      for (std::size_t r = 0; r < rows.size(); ++r) table.rows[r].push_back(std::move(cells[r]));
    }
    table.label_columns = std::max<std::size_t>(1, labels);
    return table;
  }

 private:
  std::vector<Column> columns_;
  std::vector<Fill> fills_;
  std::size_t labels_ = 1;
};

/// Four significant digits, never an exponent below a million.
Cell four_digits(std::optional<double> value);

/// The same for times beside larger ones: at most four decimals, "< 0.0001" below that.
Cell time_digits(std::optional<double> value);

/// At most four significant digits, no zeros at the end: as a person would write it.
Cell plain_digits(std::optional<double> value);

/// The columns device, variant, N, b, B that begin every table of a study.
template <class Row>
void add_configuration_columns(TableBuilder<Row>& builder,
                               std::function<const analyze::Configuration&(const Row&)> of) {
  builder
      .column({"device", "", "device", Align::kLeft, ""},
              [of](const Row& row) { return Cell(of(row).device); })
      .column({"setting", "", "setting", Align::kLeft, "settings that distinguish configurations"},
              [of](const Row& row) { return Cell(of(row).variant); })
      .column({"epochs", "", "epochs", Align::kRight, "epochs of the run"},
              [of](const Row& row) { return count(of(row).epochs); })
      .column({"N", "", "workers", Align::kRight, "workers, one device each"},
              [of](const Row& row) { return count(of(row).workers); })
      .column({"b", "", "batch_per_worker", Align::kRight, "batch per worker"},
              [of](const Row& row) { return batch_cell(of(row).batch_per_worker); })
      .column({"B", "", "global_batch", Align::kRight, "global batch"},
              [of](const Row& row) { return count(of(row).global_batch); })
      .column(
          {"batch", "", "stated_batch", Align::kRight, "b or B: the source does not state which"},
          [of](const Row& row) { return count(of(row).stated_batch); })
      .end_of_labels();
}

}  // namespace lockstep::report
