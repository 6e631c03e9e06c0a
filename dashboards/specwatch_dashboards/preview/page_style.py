"""The look of a page: light and dark, no scripts, nothing from elsewhere."""

from __future__ import annotations

from typing import Final

WIDTH_PX: Final = 1464

STYLE: Final = """
:root{color-scheme:light dark;--back:light-dark(#f4f5f5,#111217);--panel:light-dark(#fff,#181b1f);
--edge:light-dark(#d8dade,#2c3036);--ink:light-dark(#24292e,#d0d3da);--soft:light-dark(#5a6069,#9aa0a9);
--grid:light-dark(#e6e8eb,#2a2e34);--note:light-dark(#fff4d6,#3a3120);--cell:light-dark(#eceef0,#2a2e34)}
:root:has(#light:checked){color-scheme:light}
:root:has(#dark:checked){color-scheme:dark}
*{box-sizing:border-box}
body{margin:0 auto;padding:16px;width:1464px;background:var(--back);color:var(--ink);
font:13px/1.35 Inter,"Noto Sans","Liberation Sans","DejaVu Sans",sans-serif}
h1{font-size:20px;margin:0}
h2{font-size:15px;margin:14px 0 8px;height:20px}
h2 small{font-weight:400;color:var(--soft)}
a{color:light-dark(#1556b5,#7fb2ff)}
nav{display:flex;gap:14px;align-items:baseline;flex-wrap:wrap}
nav .looks{margin-left:auto;color:var(--soft)}
.note{background:var(--note);border:1px solid var(--edge);border-radius:4px;padding:6px 10px;margin:8px 0}
.choices,.kinds{color:var(--soft);margin:6px 0;display:flex;flex-wrap:wrap;gap:2px 18px}
.kinds b{display:inline-block;color:var(--ink);border-left:3px dashed;padding-left:5px;margin-right:4px}
.grid{display:grid;grid-template-columns:repeat(24,52px);grid-auto-rows:30px;gap:8px}
.panel{background:var(--panel);border:1px solid var(--edge);border-radius:3px;padding:0 8px 8px;min-width:0;
position:relative;display:flex;flex-direction:column}
.panel header{height:30px;flex:none;display:flex;align-items:center;gap:6px}
.panel h3{font-size:13px;font-weight:600;margin:0;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
details{flex:none}
summary{list-style:none;cursor:pointer;width:15px;height:15px;border:1px solid var(--soft);border-radius:50%;
font:italic 11px/13px serif;text-align:center;color:var(--soft)}
details div{position:absolute;z-index:2;left:8px;right:8px;top:30px;background:var(--panel);
border:1px solid var(--soft);border-radius:3px;padding:8px}
details p{margin:0 0 6px}
details a{margin-right:12px}
svg{display:block;flex:none}
svg text{font-size:11px;fill:var(--soft)}
svg .letter{font-size:10px;font-weight:700;fill:var(--ink)}
svg .inside{fill:#fff;font-weight:600;paint-order:stroke;stroke:#0007;stroke-width:2px}
svg .grid{stroke:var(--grid)}
svg .mark{stroke-dasharray:3 3}
svg .marked{fill-opacity:.1}
svg .band{fill-opacity:.85}
svg .line{fill:none;stroke-linejoin:round}
svg .symbol{stroke:var(--panel);stroke-width:1}
.legend{margin-top:4px;overflow:hidden;display:flex;flex-wrap:wrap;align-content:flex-start;font-size:11px}
.legend .key{display:inline-flex;align-items:center;gap:5px;height:18px;margin-right:7px;max-width:100%}
.legend .key i{width:14px;height:10px;border-radius:2px}
.legend .key span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.legend-table table{border-collapse:collapse;width:100%;table-layout:fixed}
.legend-table tr{height:18px}
.legend-table th,.legend-table td{padding:0 4px;text-align:right;font-weight:400;white-space:nowrap;width:70px}
.legend-table th{color:var(--soft)}
.legend-table .named,.legend-table th:first-child{text-align:left;width:auto;overflow:hidden}
.stat{flex:1;display:flex;flex-direction:column;align-items:center;justify-content:center;min-width:0}
.stat small,.stat-line small{color:var(--soft);font-size:12px;max-width:100%;overflow:hidden;
text-overflow:ellipsis;white-space:nowrap}
.stat b,.stat-line b{white-space:nowrap;line-height:1.15}
.stat-lines{flex:1;display:flex;flex-direction:column;justify-content:space-evenly;min-height:0}
.stat-line{display:flex;justify-content:space-between;align-items:baseline;gap:8px}
.bars{display:grid;grid-template-columns:minmax(60px,max-content) 1fr max-content;gap:6px 10px;align-items:center;
font-size:12px;margin:auto 0}
.bar-name{max-width:170px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.bar-room,.cell-bar{background:var(--cell);height:20px;border-radius:2px;overflow:hidden}
.cell-bar{display:inline-block;width:48px;height:12px;margin-right:8px;vertical-align:-1px}
.bar{height:100%}
.bar-value{text-align:right;font-weight:600}
.cells-room{overflow-x:auto}
.cells{border-collapse:collapse;width:100%;font-size:12px}
.cells tr{height:25px;border-bottom:1px solid var(--grid)}
.cells th{font-weight:600;color:var(--soft)}
.cells th,.cells td{padding:0 6px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;max-width:260px}
.words{text-align:left}.number{text-align:right}
.nothing{flex:1;overflow:hidden;display:flex;align-items:center;justify-content:center;color:var(--soft);text-align:center}
.text{overflow:auto;min-height:0}
.text ul,.text p,.text h4{margin:0 0 6px;padding-left:0}.text li{margin-left:18px}
.heat0{fill:light-dark(#deebf7,#12304d)}.heat1{fill:light-dark(#c6dbef,#17436b)}
.heat2{fill:light-dark(#9ecae1,#1d568a)}.heat3{fill:light-dark(#6baed6,#2b6ea9)}
.heat4{fill:light-dark(#4292c6,#4a8fc8)}.heat5{fill:light-dark(#2171b5,#79b2de)}
.heat6{fill:light-dark(#08519c,#aad0ee)}.heat7{fill:light-dark(#08306b,#e3f1fb)}
"""
