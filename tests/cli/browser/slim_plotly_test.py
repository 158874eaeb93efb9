#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
"""Bundles that are cut down: what is reachable stays, the rest goes.

usage: slim_plotly_test.py SOURCE_FOLDER
"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "cli" / "report" / "html"))
import slim_plotly  # noqa: E402

BUNDLE = """/* licence */(function(){var Plotly=(()=>{var w=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),t.exports);
var core=w((a,b)=>{b.exports={register(l){this.l=l}}});var bar=w((a,b)=>{b.exports={moduleType:"trace",name:"bar",
p:/[}"']\\/}/g,t:`${help("}")}`}});function help(x){return x/2/x}var pie=w((a,b)=>{b.exports=
{moduleType:"trace",name:"pie",q:only()}});var only=w((a,b)=>{b.exports=1});var lazy=w((a,b)=>{b.exports=bar()});
var lib=w((a,b)=>{var c=core();c.register([lazy(),pie()]);b.exports=c});return lib();})();window.P=Plotly;/* end */})"""


class SlimTest(unittest.TestCase):
    def test_what_is_needed_stays(self):
        small = slim_plotly.slim(BUNDLE, ("bar",))
        for part in ("/* licence */", "var core=", "var bar=", "function help", "var lazy=", "register([lazy()])",
                     "return lib();})();window.P=Plotly;/* end */"):
            self.assertIn(part, small)
        for part in ("var pie=", "var only="):
            self.assertNotIn(part, small)

    def test_all_traces_are_all(self):
        small = slim_plotly.slim(BUNDLE, ("bar", "pie"))
        self.assertEqual(small.count("w(("), BUNDLE.count("w(("))

    def test_a_trace_that_is_not_there(self):
        with self.assertRaisesRegex(ValueError, "no violin"):
            slim_plotly.slim(BUNDLE, ("bar", "violin"))


if __name__ == "__main__":
    unittest.main()
