#include "lockstep/report/render/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lockstep/base/error.h"
#include "lockstep/base/rng.h"
#include "lockstep/base/text/csv.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::report {
namespace {

Table sample() {
  Table table;
  table.title = "Time and speedup";
  table.columns = {{"run", "", "run", Align::kLeft, ""},
                   {"workers", "", "workers", Align::kRight, ""},
                   {"epoch time", "s", "epoch_time_s", Align::kRight, "T(N), measured"}};
  table.rows = {{"fashion", count(1), decimal(19.885911, 2)},
                {"größer", count(12), decimal(6.5, 2)},
                {"三", count(2), Cell{}}};
  table.notes = {"median of 3"};
  return table;
}

/// Text that would break each format when it were not escaped.
Table hostile(const std::string& text) {
  Table table;
  table.title = text;
  table.columns = {{text, text, text, Align::kLeft, text}};
  table.rows = {{Cell(text)}};
  table.notes = {text};
  return table;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(Table, TextAlignsByDisplayWidth) {
  EXPECT_EQ(render(sample(), Format::kText, {.definitions = true}),
            "Time and speedup\n"
            "run      workers  epoch time (s)\n"
            "-------  -------  --------------\n"
            "fashion        1           19.89\n"
            "größer        12            6.50\n"
            "三             2               -\n"
            "note: median of 3\n"
            "  epoch time: T(N), measured\n");
}

TEST(Table, TextOfATableWithoutHeadersHasNoRule) {
  Table table;
  table.columns = {{"", "", "fact", Align::kLeft}, {"", "", "value", Align::kLeft}};
  table.rows = {{"status", "done"}, {"b", "128"}};
  EXPECT_EQ(render(table, Format::kText), "status  done\nb       128\n");
}

TEST(Table, TextBreaksHeadersBeforeItWrapsCells) {
  EXPECT_EQ(render(sample(), Format::kText, {.width = 24}),
            "Time and speedup\n"
            "                   epoch\n"
            "                    time\n"
            "run      workers     (s)\n"
            "-------  -------  ------\n"
            "fashion        1   19.89\n"
            "größer        12    6.50\n"
            "三             2       -\n"
            "note: median of 3\n");
}

TEST(Table, TextWrapsLongCellsAndRepeatsLabelsWhenColumnsDoNotFit) {
  Table table = sample();
  table.title.clear();
  table.notes.clear();
  table.rows = {{"a rather long name of a run", count(1), decimal(1, 0)}};
  EXPECT_EQ(render(table, Format::kText, {.width = 26}),
            "run               workers\n"
            "----------------  -------\n"
            "a rather long           1\n"
            "name of a run\n"
            "\n"
            "                  epoch\n"
            "                   time\n"
            "run                 (s)\n"
            "----------------  -----\n"
            "a rather long         1\n"
            "name of a run\n");
}

TEST(Table, TextRepeatsTheLabelsThatTellRowsApart) {
  Table table;
  table.columns = {{"device", "", "device", Align::kLeft},
                   {"N", "", "workers"},
                   {"time", "", "time"},
                   {"efficiency", "", "efficiency"}};
  table.rows = {{"cpu", count(1), decimal(8, 1), decimal(1, 2)},
                {"cpu", count(2), decimal(5, 1), decimal(0.8, 2)}};
  table.label_columns = 2;
  EXPECT_EQ(render(table, Format::kText, {.width = 18}),
            "all rows: device cpu\n"
            "N  time\n"
            "-  ----\n"
            "1   8.0\n"
            "2   5.0\n"
            "\n"
            "N  efficiency\n"
            "-  ----------\n"
            "1        1.00\n"
            "2        0.80\n");
}

TEST(Table, TextLeavesOutColumnsOfWhichNothingIsKnown) {
  Table table = sample();
  for (auto& row : table.rows) row[1] = Cell{};
  table.notes.clear();
  EXPECT_EQ(render(table, Format::kText),
            "Time and speedup\n"
            "run      epoch time (s)\n"
            "-------  --------------\n"
            "fashion           19.89\n"
            "größer             6.50\n"
            "三                    -\n");
  EXPECT_NE(render(table, Format::kMarkdown).find("workers"), std::string::npos);
}

TEST(Table, TextStatesOnceWhatAllRowsShareWhereColumnsDoNotFit) {
  Table table;
  table.columns = {{"device", "", "device", Align::kLeft, ""},
                   {"N", "", "workers", Align::kRight, ""},
                   {"time", "s", "time_s", Align::kRight, ""},
                   {"origin", "", "origin", Align::kLeft, ""}};
  table.rows = {{"cpu", count(1), decimal(2.5, 1), "measured"},
                {"cpu", count(2), decimal(1.5, 1), "measured"}};
  table.label_columns = 2;
  EXPECT_EQ(render(table, Format::kText, {.width = 28}),
            "all rows: device cpu, origin measured\n"
            "N  time (s)\n"
            "-  --------\n"
            "1       2.5\n"
            "2       1.5\n");
  EXPECT_EQ(render(table, Format::kText, {.width = 29}).find("all rows"), std::string::npos);
}

TEST(Table, TextNeverExceedsTheTerminalWhenColumnsCanBeSplit) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    Table table;
    table.title = "widths";
    const std::size_t columns = 1 + rng.below(12);
    std::vector<Cell> row;
    for (std::size_t i = 0; i < columns; ++i) {
      table.columns.push_back({std::string(1 + rng.below(8), 'h') + " x", "", "k"});
      row.emplace_back(std::string(1 + rng.below(14), '9'));
    }
    table.rows = {row, row};
    const std::size_t width = 40 + rng.below(100);
    EXPECT_LE(widest_line(render(table, Format::kText, {.width = width})), width);
  }
}

TEST(Table, MarkdownHasAlignmentNotesAndDefinitions) {
  EXPECT_EQ(render(sample(), Format::kMarkdown, {.definitions = true}),
            "### Time and speedup\n\n"
            "| run | workers | epoch time (s) |\n"
            "|---|---:|---:|\n"
            "| fashion | 1 | 19.89 |\n"
            "| größer | 12 | 6.50 |\n"
            "| 三 | 2 | - |\n"
            "\n- median of 3\n"
            "\n- **epoch time**: T(N), measured\n");
}

TEST(Table, MarkdownEscapesWhatWouldEndACellOrStartMarkup) {
  Table table = hostile("a|b_c*<i>\n`x`\\");
  EXPECT_NE(render(table, Format::kMarkdown).find("| a\\|b\\_c\\*\\<i\\> \\`x\\`\\\\ |\n"),
            std::string::npos);
}

TEST(Table, CsvKeepsNumbersUnrounded) {
  EXPECT_EQ(render(sample(), Format::kCsv),
            "run,workers,epoch_time_s\n"
            "fashion,1,19.885911\n"
            "größer,12,6.5\n"
            "三,2,\n");
}

TEST(Table, CsvReadsBackCellsOfAnyContent) {
  const std::string text = "a,\"b\"\nc";
  std::istringstream in(render(hostile(text), Format::kCsv));
  std::vector<std::string> fields;
  std::size_t lines = 0;
  ASSERT_TRUE(read_csv_record(in, fields, lines));
  EXPECT_EQ(fields, std::vector<std::string>{text});
  ASSERT_TRUE(read_csv_record(in, fields, lines));
  EXPECT_EQ(fields, std::vector<std::string>{text});
  EXPECT_FALSE(read_csv_record(in, fields, lines));
}

TEST(Table, JsonHasKeysNumbersAndNullForUnknown) {
  const auto json = nlohmann::json::parse(render(sample(), Format::kJson));
  EXPECT_EQ(json["title"], "Time and speedup");
  EXPECT_EQ(json["columns"][2]["key"], "epoch_time_s");
  EXPECT_EQ(json["columns"][2]["unit"], "s");
  EXPECT_EQ(json["rows"][0]["workers"], 1);
  EXPECT_DOUBLE_EQ(json["rows"][0]["epoch_time_s"].get<double>(), 19.885911);
  EXPECT_TRUE(json["rows"][2]["epoch_time_s"].is_null());
  EXPECT_EQ(json["notes"][0], "median of 3");
}

TEST(Table, JsonStaysValidForBytesThatAreNotUtf8) {
  const auto json = nlohmann::json::parse(render(hostile("\xff\x1b[31m\"\\"), Format::kJson));
  EXPECT_EQ(json["title"], "\xEF\xBF\xBD [31m\"\\");
}

TEST(Table, LatexIsAPlainTabular) {
  EXPECT_EQ(render(sample(), Format::kLatex, {.definitions = true}),
            "\\begin{table}\n\\centering\n\\caption{Time and speedup}\n"
            "\\begin{tabular}{lrr}\n\\hline\n"
            "run & workers & epoch time (s) \\\\\n\\hline\n"
            "fashion & 1 & 19.89 \\\\\n"
            "größer & 12 & 6.50 \\\\\n"
            "三 & 2 & - \\\\\n"
            "\\hline\n\\end{tabular}\n"
            "\\par\\small median of 3\n"
            "\\par\\small \\emph{epoch time}: T(N), measured\n"
            "\\end{table}\n");
}

TEST(Table, LatexEscapesItsSpecialCharacters) {
  const std::string text = render(hostile("50% of $x_1$ & {#} \\ ~ ^ 3 ± 1 <"), Format::kLatex);
  EXPECT_NE(text.find("50\\% of \\$x\\_1\\$ \\& \\{\\#\\} \\textbackslash{} \\textasciitilde{} "
                      "\\textasciicircum{} 3 $\\pm$ 1 \\textless{} \\\\\n"),
            std::string::npos);
}

TEST(Table, TextCannotSteerTheTerminal) {
  const std::string text = render(hostile("\x1b[2J\r\n\x07x"), Format::kText);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Table, RefusesRowsOfAnotherLength) {
  Table table = sample();
  table.rows.push_back({"short"});
  EXPECT_THROW(render(table, Format::kCsv), Error);
}

TEST(Table, ShowsThreeSignificantDigits) {
  EXPECT_EQ(significant(1234.5).text, "1234");
  EXPECT_EQ(significant(9.999).text, "10.0");
  EXPECT_EQ(significant(1.2345).text, "1.23");
  EXPECT_EQ(significant(0.0012345).text, "0.00123");
  EXPECT_EQ(significant(-0.5).text, "-0.500");
  EXPECT_EQ(significant(0).text, "0");
  EXPECT_TRUE(significant(std::numeric_limits<double>::quiet_NaN()).unknown());
}

TEST(Table, NamesItsFormatsWhenAnotherIsAskedFor) {
  EXPECT_EQ(format_from_name("md"), Format::kMarkdown);
  EXPECT_THROW(format_from_name("docx"), Error);
}

TEST(TextWidth, CountsCombiningMarksAsNothingAndWideCharactersAsTwo) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width("\xe6\x97"), 2u);  // cut in the middle of a character
}

TEST(TextWidth, WrapKeepsEveryCharacterOfAWordThatIsTooLong) {
  EXPECT_EQ(wrap("ab abcdefg h", 3), (std::vector<std::string>{"ab", "abc", "def", "g h"}));
  EXPECT_EQ(wrap("", 3), std::vector<std::string>{""});
}

}  // namespace
}  // namespace lockstep::report
