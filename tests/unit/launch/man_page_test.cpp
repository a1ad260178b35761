#include "launch/man_page.h"

#include <gtest/gtest.h>

#include "launch/options.h"

namespace hearth::launch {
namespace {

TEST(ManPage, EscapesWhatTroffInterprets) {
  EXPECT_EQ(troff_escaped("--bind-to"), "\\-\\-bind\\-to");
  EXPECT_EQ(troff_escaped("Ctrl-\\"), "Ctrl\\-\\e");
  EXPECT_EQ(troff_escaped(".so x\n.so y"), "\\&.so x\n\\&.so y");
  EXPECT_EQ(troff_escaped("'a' \"b\" `c` ~ ^"), "\\(aqa\\(aq \\(dqb\\(dq \\(gac\\(ga \\(ti \\(ha");
  EXPECT_EQ(troff_escaped("a.b NAME.%r"), "a.b NAME.%r");
}

TEST(ManPage, ParagraphsAreOneLineAndHeadingsStartThem) {
  ManPage page({"tool", "link"}, "does it", "1.0");
  EXPECT_EQ(page.text(),
            ".TH TOOL 1 \"\" \"1.0\" \"User Commands\"\n.nh\n.ad l\n.SH \"NAME\"\ntool, link \\- does it\n");
  const size_t start = page.text().size();
  page.section("EXIT STATUS");
  page.paragraph("one\n.two");
  page.paragraph("three");
  page.option({"-n", "--np"}, " N", ".ranks");
  page.lines("a\n.b\n");
  page.see_also({"mpicc", "hearth"});
  EXPECT_EQ(page.text().substr(start),
            ".SH \"EXIT STATUS\"\none .two\n.PP\nthree\n"
            ".TP\n\\fB\\-n\\fR, \\fB\\-\\-np\\fR\\fI N\\fR\n\\&.ranks\n"
            ".PP\n.nf\na\n\\&.b\n.fi\n"
            ".SH \"SEE ALSO\"\n\\fBmpicc\\fR(1),\n\\fBhearth\\fR(1)\n");
}

TEST(ManPage, OfMpiexecLeavesOutHiddenOptions) {
  const std::string page = man_page_text();
  EXPECT_NE(page.find("\\fB\\-\\-bind\\-to\\fR"), std::string::npos);
  EXPECT_NE(page.find("\\fB\\-\\-mca\\fR"), std::string::npos);
  EXPECT_EQ(page.find("man\\-page"), std::string::npos);
  EXPECT_EQ(help_text().find("man-page"), std::string::npos);
}

}  // namespace
}  // namespace hearth::launch
