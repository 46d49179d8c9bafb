// What the server and the views tell each other, each message under one name. Every field is counted from 0.

/** The session that counts the turns, and the last turn that its server has heard. */
export interface Turns {
  visit: string;
  heard: number;
}

/** What every picture says of the query that it answers: pages/kit/picture/asked.py */
export interface Answered {
  digest: string;
  model: string; // its name in the link
  used: Record<string, string>; // key of a typed text -> what the picture is of
  unusable: Record<string, string[]>; // keys of the link that cannot be used, with what of them can
  told: string[]; // what must be said of them, which stands in notices too
  defaults: Record<string, string | string[]>; // key -> what a link means where it says nothing
  notices: string[];
  presets?: string[];
}

// ---- Explore: pages/explore/map_view.py, pages/explore/message.py, pages/kit/draw/packing.py

export interface Maps {
  digest: string;
  tokens: string[];
  ends: [number, number]; // of the tokens in front and behind, how many are the model's own: [CLS], [SEP]
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

export interface Picture extends Answered {
  positions: [string, string][]; // that the model can take, each with what it does to it
  compared: string; // what is known of the comparison with transformers
  layer: number;
  head: number;
  row: number;
  key: number | null;
  forbidden: string[]; // cells as text, one for all heads or one a head
  label: string;
  origin: string;
  presets: string[];
  places: Record<string, string>; // preset -> the head that shows it, as `at` of a link
  typed: string; // the sentence of the picture
  figures: Figure[];
  status: string;
  pinTail: string; // what the link says of this picture behind the head
  pin: { tokens: string[]; ends: [number, number]; at: string; label: string; forbidden: string[] } | null;
  kinds: [string, number][][]; // of each head, layer by layer: its name, and the number that made it so
  // of the changes; here: the largest of them in the map in focus
  effect: { layers: number[]; at: [number, number, number, number] | null; said: string; here: number } | null;
  before: { forbidden: string[]; distances: number[] } | null; // the map before them, where it was asked for
  pieces: string[]; // what must be explained of the tokens
  kv: number; // key and value heads of a layer; query heads that follow each other share one
  found: Record<string, [number, number, number][]>; // kind -> layer, head and score of those that do it most
  surprise: [number | null, number | null][] | null; // of each token, now and before; null where it was not asked for
  next: NextToken[]; // the likeliest; empty of a model that does not say what comes next
  drawn: NextToken | null; // where the sampling temperature is above 0
  sampling: [number, number, string]; // temperature, seed, and the word that is asked about
  wordSaid: string;
  randomSaid: string | null; // of random tokens, said twice; `found` is then of these
  mean: string | null; // what is said of the mean over the heads, where the map is that
  values: number[] | null; // how long each value of the head is; null where it was not asked for
  columns: string; // what is said of the columns that are taken out
}

export interface NextToken {
  label: string;
  text: string; // what it adds to the sentence, "" where it is no whole character
  chance: number;
  before: number | null; // in the picture that it is compared with, null without one
}

// ---- Masks: pages/masks/message.py

export interface Card {
  name: string;
  line: string;
  rule: string;
  painted: string;
  cells: string; // those that it forbids, as text
  counted: string;
  why_not: string;
  clicks: Record<string, Record<string, string> | null>; // what a click does -> what the link then says of the mask
  meaning: string; // in a sentence
  numbers: MaskNumber[];
}

export interface MaskNumber {
  key: string; // in the link
  name: string;
  label: string; // what it does
  value: number;
  ends: [number, number];
}

export interface Masks extends Answered {
  tokens: string[];
  layers: number;
  heads: number;
  layer: number; // of the weights
  head: number;
  row: number; // where one looks first
  key: number | null;
  rule: string;
  painted: string;
  base: string; // cells that the rule forbids, as text
  own: string; // cells that the model itself forbids
  forbidden: string[];
  forbiddenBefore: string[];
  meaning: string; // of the mask in use, in a sentence
  begins: Record<string, string>; // what is shown beside what the link says, by key
  cards: Card[];
  ruleKeys: string[]; // the keys of a link that say a rule
  most: number; // tokens that can be painted
  longest: number; // characters of a painting
  without: string;
  sums: string;
  typed: string; // the sentence of the picture
  positions: [string, string][]; // that the model can take, each with what it does to it
  presets: string[];
  label: string;
}

export interface MaskOutcomes {
  mask: Block[];
  padding: Block[]; // of the second sentence in the batch
  pad: string; // that sentence
}

// ---- Compare: pages/compare/message.py

export interface Side {
  tokens: string[];
  ends: [number, number]; // of the tokens in front and behind, how many are the model's own: [CLS], [SEP]
  title: string; // what it has of the differences
  story: string; // why the rows of equal words are equal, or not; empty without any
  repeated: number[]; // the places of these words
  label: string;
  fitness: string;
  forbidden: string[];
}

export interface Pair extends Answered {
  layers: number;
  heads: number;
  layer: number;
  head: number;
  row: number;
  key: number | null;
  marked: [number, number]; // the cell that is read without a pointer
  sides: [Side, Side];
  tokens: string[]; // of the difference
  fits: boolean; // both maps have one size
  said: string;
  distances: number[];
  differs: string[]; // keys of the left side's controls
  contrast: string; // the same as a sentence
  answers: Figure[]; // that stand first
  next: NextToken[]; // right, before: left; empty of a model that does not say what comes next
  word: string; // that is asked about
  wordSaid: string;
  figures: Figure[];
  asides: string[];
  vectors: TokenVectors; // of the row in focus
  positions: [string, string][]; // that the model can take, each with what it does to it
  begins: Record<string, string | string[]>; // key of the right side -> what it begins with, where the left was changed before
  try: Record<string, Record<string, string | string[]>>; // name -> key of the link -> what it says then; first the defaults
  eachIsQuick: boolean; // every head alone is switched off without being asked
}

export interface TokenVectors {
  cosines: number[]; // of both sides, the embeddings first, then after each layer; empty where they have other places
  changes: number[]; // the largest of an entry
  shown: string[]; // the cosines
  said: string;
}

export interface Shuffled {
  order: string;
  sides: { title: string; label: string; why: string }[];
}

export interface HeadCosines {
  cosines: number[][]; // of each head, layer by layer
  shown: string[][];
  title: string;
  said: string;
}

// ---- Shapes: pages/shapes/message.py

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
  recorded: number; // the line that recorded it, among them or not
  texts: [string, string][]; // a text that writes it this way, and its words for this step
}

export interface TraceHeader {
  digest: string;
  implementation: string;
  label: string;
  layer: number;
  tokens: string[];
  heads: number;
  dHead: number;
  steps: TraceStep[];
  sources: { where: string; first: number; lines: string[]; records: number[] }[]; // records: lines that only record
  pieces: number[]; // the lengths of the memory that follows
  places: [number, number][]; // of each step: its piece, and its offset in it
}

export interface StepsPicture extends Answered {
  layers: number; // of the model
  heads: number;
  layer: number;
  head: number; // this head and this step were in sight: where not all numbers can be sent, theirs are here
  step: string;
  cut: boolean; // of no step but this one: it came with the page
  typed: string; // the sentence
  lessons: Record<string, string>; // the question that each answers
  row: number; // that one looks at first
  key: number | null;
  label: string;
  positions: [string, string][]; // that the model can take, each with what it does to it
  implementations: string[];
  biases: string[]; // of random weights
  weights: string; // what is to be known of the layer's
  cannot: Record<string, string>; // key of a control -> why it has no effect, or nothing
}

export interface ReshapeLesson {
  blocks: Block[];
  source: string; // of what it ran
  wrote: string; // the chosen lines of the exercise
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
  wanted: string; // name of the films that are to be shown
  query: string; // that asks for them
  sought: number; // how often a step was asked for in the curves
  step: number; // the last one
}

// ---- Positions: pages/positions/map_view.py

export interface EncodingTile {
  name: string; // in the control of Explore
  title: string;
  figure: string; // the mean weight on the word before
  told: string; // the same as a sentence
  note: string;
  learnt: boolean; // the model learnt with it
}

export interface EncodingsState extends Turns {
  place: string; // the layer and head
  tokens: string[];
  tiles: EncodingTile[];
  maps: string; // base64 of float32 (i, j), one of each tile
  chosen: string;
  asks: boolean; // what stands below waits until the maps are drawn
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

// ---- a run in a file of its own: mha_core/show/html.py

export interface StandaloneRun {
  title: string;
  link: string; // of the same picture, live; "" without one
  origin: string; // what was computed, and where
  changed: string; // what is changed in the model
  off: string[]; // heads that are off in it, as "3.1"
  forbidden: string[]; // cells as text, one for all heads or one a head; empty: everything may be looked at
  layer: number;
  head: number;
  row: number;
  exact: [number, number][]; // layer and head of the float32 maps that follow
}

// ---- a lesson on paper: pages/kit/lessons/files.py

export interface HandoutMap {
  tokens: string[];
  layer: number;
  head: number;
  row: number;
  label: string;
  forbidden: string[];
}

export interface HandoutStep {
  page: string; // its title
  say: string;
  ask: string;
  options: [string, string][]; // letter and text
  curtain: { part: string; words: string[] }[];
  link: string; // on this server
  address: string; // the same for a class, "" where the server answers its own machine alone
  code: string; // that address as a picture, "" without one, and of one too long
  answer: { letter: string | null; sentence: string; numbers: [string, string][] };
  maps: HandoutMap[]; // of the float32 that follow, in order
}

export interface Handout {
  title: string;
  aim: string;
  minutes: number;
  now_you: string;
  papers: string[];
  steps: HandoutStep[];
}
