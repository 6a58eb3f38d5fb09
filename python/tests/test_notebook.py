"""The notebook runs from its first cell to its last."""

from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "profiler_results.ipynb"


def test_the_notebook_runs_and_shows_its_figures(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kinds = [
        {kind for output in cell.outputs for kind in output.get("data", {})} for cell in code
    ]
    # Tables are HTML, except in the first cell's page and in the cells of drawings.
    assert sum("image/png" in of_cell for of_cell in kinds) == 2
    assert sum("text/html" in of_cell for of_cell in kinds) >= 6
    per_op = next(cell for cell in code if "groupby(\"op\")" in cell.source)
    assert "Matmul" in per_op.outputs[0]["data"]["text/html"] or "matmul" in str(per_op.outputs)
