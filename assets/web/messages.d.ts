// What the server and the views tell each other, each message under one name. Every field is counted from 0.

/** The session that counts the turns, and the last turn that its server has heard. */
export interface Turns {
  visit: string;
  heard: number;
}

// ---- Explore: pages/explore/map_view.py, pages/kit/draw/packing.py

export interface Maps {
  digest: string;
  tokens: string[];
  layers: number;
  heads: number;
  whole: number[]; // the layers whose maps follow whole
  thumbnail: number; // side of the small maps of all heads; 0 = all layers are whole
}

export interface Figure {
  value: string;
  label: string;
  ask?: string; // what a button says that has the value computed
}

export interface Focus extends Turns {
  digest: string;
  at: string;
  layer: number;
  head: number;
  row: number;
  key: number | null;
  look: string;
  off: string;
  forbidden: string[]; // cells as text, one for all heads or one a head
  label: string;
  origin: string;
  presets: string[];
  typed: string;
  notices: string[];
  unusable: string[];
  figures: Figure[];
  status: string;
  pin: { tokens: string[]; at: string; label: string; forbidden: string[] } | null;
}

// ---- Masks: pages/masks/painter.py

export interface Card {
  name: string;
  line: string;
  rule: string;
  painted: string;
  cells: string; // those that it forbids, as text
  counted: string;
  why_not: string;
  event: { rule?: string; painted?: string; kind?: string };
}

export interface Masks extends Turns {
  digest: string;
  tokens: string[];
  layers: number;
  heads: number;
  layer: number;
  head: number;
  drawn: [number, number]; // layer and head that the weights are of
  row: number;
  key: number | null;
  chosen: boolean; // the visitor, not the page, chose the row
  rule: string;
  painted: string;
  base: string; // cells that the rule forbids, as text
  forbidden: string[];
  forbiddenBefore: string[];
  cards: Card[];
  most: number; // tokens that can be painted
  longest: number; // characters of a painting
  without: string;
  sums: string;
  label: string;
  notices: string[];
}

// ---- Compare: pages/compare/pair_view.py

export interface Side {
  tokens: string[];
  label: string;
  fitness: string;
  forbidden: string[];
}

export interface Pair extends Turns {
  digest: string;
  layers: number;
  heads: number;
  layer: number;
  head: number;
  row: number;
  key: number | null;
  marked: [number, number]; // the cell that is read without a pointer
  chosen: boolean; // the visitor, not the page, chose the row
  look: string;
  sides: [Side, Side];
  tokens: string[]; // of the difference
  fits: boolean; // both maps have one size
  said: string;
  distances: number[];
  figures: Figure[];
  sentences: string[];
  try: string[];
  tried: string;
  notices: string[];
}

export interface HeadCosines extends Turns {
  cosines: number[][];
  shown: string[][];
  layer: number;
  head: number;
  off: string;
  said: string;
}

// ---- Shapes: pages/shapes/step_view.py

export interface Axis {
  text: string; // as it is written: "h", "3 c"
  letter: string; // which gives it its colour
  size: number;
}

export interface TraceStep {
  name: string;
  expression: string;
  axes: Axis[];
  strides: number[];
  contiguous: boolean;
  view: boolean;
  bytes: number;
  from: number[]; // the steps that it was made from
  source: number; // which of the sources made it
  marked: number[]; // the lines of it
}

export interface TraceHeader {
  side: number;
  digest: string;
  implementation: string;
  label: string;
  layer: number;
  tokens: string[];
  heads: number;
  dHead: number;
  steps: TraceStep[];
  sources: { where: string; first: number; lines: string[] }[];
  pieces: number[]; // the lengths of the memory that follows
  places: [number, number][]; // of each step: its piece, and its offset in it
}

export interface Steps extends Turns {
  step: string;
  layer: number;
  head: number;
  row: number;
  key: number | null;
  chosen: boolean; // the visitor, not the page, chose the row
  feature: number;
  notices: string[];
  label: string;
  count: number; // of traces
}

// ---- Train: pages/train/film.py

export interface FilmProbe {
  tokens: string[];
  steps: number[];
  at: number; // where its maps begin
}

export interface FilmHeader {
  name: string;
  colours: { dark: string; light: string };
  layers: number;
  heads: number;
  causal: boolean;
  step: number;
  over: boolean;
  probes: (FilmProbe | null)[];
}

export interface FilmsHeader {
  steps: number;
  probes: string[];
  films: FilmHeader[];
  notes: string[];
}

export interface FilmState extends Turns {
  choice: string;
}

// ---- sheets: pages/kit/draw/sheet.py

export interface SheetState extends Turns {
  blocks: Block[];
}

export interface Block {
  kind: string;
  name?: string;
  heading?: string;
  [field: string]: any; // those of its kind
}
