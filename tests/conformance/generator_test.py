#!/usr/bin/env python3
"""Tests of api/generator: invalid input is refused, and only changed files are written."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

from generator import entries, header, kinds, table, writer  # noqa: E402


def functions_from(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "functions.txt"
        path.write_text(text, encoding="utf-8")
        return table.read_functions(path)[1]


class TableTest(unittest.TestCase):
    def test_a_row_over_two_lines(self):
        rows = functions_from("[coll] Title\nyes Bcast(_c) buffer:out@part count:count@part\n    comm:comm\n")
        self.assertEqual([p.name for p in rows[0].parameters], ["buffer", "count", "comm"])
        self.assertEqual(rows[0].parameters[0].place, "part")
        self.assertEqual(list(rows[0].forms()), [("Bcast", False), ("Bcast_c", True)])

    def test_marks_and_literal_types(self):
        row = functions_from("[misc] T\nyes Wtime [returns double] value:{char *[]} ...\n")[0]
        self.assertTrue(row.direct)
        self.assertEqual(row.returns, "double")
        self.assertEqual(row.parameters[0].literal, "char *[]")

    def test_wrong_rows_are_refused_with_their_line(self):
        for row in ("maybe Send comm:comm", "yes Send comm", "yes Send [often] comm:comm",
                    "yes Send comm:comm@moon"):
            with self.assertRaisesRegex(table.TableError, "functions.txt:2|cannot read|unknown mark"):
                functions_from("[pt2pt] T\n" + row + "\n")
        with self.assertRaisesRegex(table.TableError, "listed twice: Send_c"):
            functions_from("[pt2pt] T\nyes Send(_c) comm:comm\nyes Send_c comm:comm\n")

    def test_every_kind_in_the_table_is_known(self):
        groups, functions = table.read_functions(ROOT / "api" / "functions.txt")
        self.assertEqual(len(groups), 22)
        standard = [function for function in functions if function.in_abi]
        self.assertEqual(sum(len(list(function.forms())) for function in standard), 664)
        self.assertEqual(sorted(entries.entry_files(functions)), sorted(set(entries.entry_files(functions))))


class PrototypeTest(unittest.TestCase):
    def prototypes(self, row):
        function = functions_from("[coll] T\n" + row + "\n")[0]
        return [" ".join(header.prototype(function, name, large, "MPI_").split())
                for name, large in function.forms()]

    def test_the_large_form_follows_from_the_kinds(self):
        row = "no Gatherv(_c) sendbuf:in sendcount:count displs:displacements comm:comm"
        self.assertEqual(self.prototypes(row), [
            "int MPI_Gatherv(const void *sendbuf, int sendcount, const int displs[], MPI_Comm comm)",
            "int MPI_Gatherv_c(const void *sendbuf, MPI_Count sendcount, const MPI_Aint displs[], "
            "MPI_Comm comm)",
        ])

    def test_no_parameters(self):
        self.assertEqual(self.prototypes("yes Finalize"), ["int MPI_Finalize(void)"])

    def test_an_array_of_arrays(self):
        self.assertEqual(self.prototypes("yes Group_range_incl ranges:{int[][3]}"),
                         ["int MPI_Group_range_incl(int ranges[][3])"])


class EntryTest(unittest.TestCase):
    def body(self, row, large=False):
        function = functions_from("[coll] T\n" + row + "\n")[0]
        return entries.Entry(function, function.name, large).body()

    def test_arguments_beside_in_place_do_not_count(self):
        body = self.body("yes Allgather sendbuf:in_or_place sendcount:count sendtype:type comm:comm")
        self.assertIn("!sendbuf_placed_ && sendcount < 0", body)
        self.assertIn("!sendbuf_placed_ ? find<datatype::Type>(sendtype) : insignificant_type()", body)

    def test_arguments_of_the_root_count_at_the_root(self):
        body = self.body("yes Gather recvbuf:out@root recvcount:count@root recvtype:type@root root:root "
                         "comm:comm")
        self.assertLess(body.index("is_root(*comm_, root)"), body.index("at_root_ && recvcount < 0"))

    def test_an_implementation_may_ask_for_the_form(self):
        row = "yes Type_contiguous(_c) [form] count:count oldtype:any_type newtype:type_out"
        self.assertIn("newtype_, Form::small)", self.body(row))
        self.assertIn("newtype_, Form::large)", self.body(row, large=True))

    def test_arrays_without_entries_may_be_null(self):
        body = self.body("yes Type_indexed count:entries array_of_blocklengths:integers")
        self.assertIn("array_of_blocklengths == nullptr && count > 0", body)

    def test_a_kind_without_conversion_cannot_be_implemented(self):
        with mock.patch.dict(kinds.KINDS, {"thing": kinds.Kind("MPI_Thing %")}), \
                self.assertRaisesRegex(table.TableError, "'thing'"):
            self.body("yes Thing_sync thing:thing")

    def test_what_is_not_implemented_says_so(self):
        self.assertIn("return unimplemented(Call::ibarrier, words_);", self.body("no Ibarrier comm:comm"))


class WriterTest(unittest.TestCase):
    def test_an_unchanged_file_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "deeper" / "file"
            self.assertTrue(writer.write_if_changed(path, "one"))
            self.assertFalse(writer.write_if_changed(path, "one"))
            self.assertTrue(writer.write_if_changed(path, "two"))


if __name__ == "__main__":
    unittest.main()
