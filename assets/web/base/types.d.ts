// Types that several modules use: they are declared here, once, and no module imports them for its JSDoc alone.

declare global {
  type Ack = import("./messages.js").Ack;
  type ApiView<Picture extends PictureAnswer = any> = import("../wire/api_view.js").ApiView<Picture>;
  type BigMap = import("../picture/map.js").BigMap;
  type Block = import("./messages.js").Block;
  type Card = import("./messages.js").Card;
  type CourseLesson = import("./messages.js").CourseLesson;
  type CourseMessage = import("./messages.js").CourseMessage;
  type CourseStep = import("./messages.js").CourseStep;
  type EncodingTile = import("./messages.js").EncodingTile;
  type Explore = import("../explore/explore.js").Explore;
  type ExplorePicture = import("../explore/explore_picture.js").ExplorePicture;
  type Handout = import("./messages.js").Handout;
  type HandoutMap = import("./messages.js").HandoutMap;
  type HeadsView = import("../explore/heads_view.js").HeadsView;
  type House = import("./messages.js").House;
  type Inks = import("./colour.js").Inks;
  type Maps = import("../wire/packets.js").Maps;
  type Masks = import("./messages.js").Masks;
  type NextToken = import("./messages.js").NextToken;
  type Painter = import("../masks/painter.js").Painter;
  type PairView = import("../compare/pair.js").PairView;
  type PictureAnswer = import("./messages.js").PictureAnswer;
  type RoomAsked = import("./messages.js").RoomAsked;
  type RoomState = import("./messages.js").RoomState;
  type SearchEntry = import("./messages.js").SearchEntry;
  type SearchGroup = import("./messages.js").SearchGroup;
  type StandaloneRun = import("./messages.js").StandaloneRun;
  type StepVerdict = import("./messages.js").StepVerdict;
  type StepView = import("../shapes/steps.js").StepView;
  type Tensor = import("../shapes/tensor.js").Tensor;
  type Trace = import("../shapes/tensor.js").Trace;
  type TraceStep = import("./messages.js").TraceStep;

  // ---- the link and the cursor
  /** Link parameter -> value; null = its default. */
  type Controls = Record<string, string | null>;
  /** Link parameter -> value; null or [] = absent. */
  type Values = Record<string, string | string[] | null>;
  /** Link parameter -> new value. */
  type Change = Record<string, string | string[]>;
  /** Over the heads of the layer, of all layers, or the visible ones. */
  type Mean = "mean" | "meanall" | "meanseen";
  type Switch = "nospecials" | "all" | "open" | "table" | "lines" | "sort" | "difference" | "surprise" | Mean | "values" | "words" | "nofirst" | "renorm";
  /** `keys`: selected besides the one in focus. */
  type Look = Record<Switch, boolean> & { scale: Scale; hidden: Set<string>; solo: string | null; keys: number[] };
  type At = { layer: number; head: number; row: number | null; key: number | null };
  type Spot = { layer: number; head: number; row: number; key: number | null };
  /** `placed`: the user chose layer and head; `rowChosen`: the user chose the row. */
  type Cursor = { at: Spot; placed: boolean; rowChosen: boolean };
  /** `group`: entry of the bar, "" for none. */
  type Page = { path: string; group: string; title: string; question: string; line: string; model: boolean; file?: string };
  /** A step and its lesson, numbered from 1; `again`: the step's second question. */
  type LessonPlace = { lesson: CourseLesson; number: number; total: number; step: CourseStep; at: number; again: boolean };
  /** Idle; pending; pending for long; server unreachable. */
  type Waiting = "" | "pending" | "slow" | "lost";

  // ---- what is drawn
  type Theme = "dark" | "light";
  type Scale = "root" | "linear" | "own";
  /** Row and column. */
  type Cell = [number, number];
  /** A map with `size` rows, one byte a cell. */
  type Bytes = { size: number; bytes: Uint8Array };
  type GridActions = {
    pick(row: number, column: number | null, adds?: boolean): void;
    hover(text: string | null, at: Cell | null): void;
  };
  /** `labels`: tokens of a neighbouring map, whose label width is used so that the rows of both align; `tall`: the largest
   * height of a cell in its width, by default 1. */
  type Room = { width: number; height: number; labels?: string[]; tall?: number; rows?: number }; // rows: of the lowest map beside it
  interface MapPicture {
    tokens: string[]; // one per row
    keys: string[]; // one per column; differ from `tokens` in cross-attention
    name: string;
    map: Bytes;
    whole: boolean; // whether `map` has one cell per token pair; otherwise a thumbnail
    weights: Float32Array | null; // null while they are pending
    ofRow?: Float32Array | null; // its row in focus, if only that is loaded
    row: number; // the query in focus; −1 = none
    key: number | null;
    others?: number[]; // further selected keys
    best?: number | null; // strongest key of the row, marked while no key is selected
    scale: Scale;
    theme: Theme;
    first: number; // hidden tokens at the start
    last: number; // hidden tokens at the end
    forbids: (i: number, j: number) => boolean;
  }
  /** First row and column, and the side length. */
  type MapWindow = { row: number; column: number; size: number };
  /** `what`: noun of the numbers; `write`: their format. */
  type Writing = { what?: string; write?: (value: number) => string };
  /** `values`: one per head, layer by layer. */
  type Measure = { name: string; title: string; unit: string; description: string; rows: number; missing: string; values: ArrayLike<number> | null };
  /** Clickable area of a head. */
  type Area = { x: number; y: number; width: number; height: number; head: number | null };
  type Tool = "block" | "allow" | "flip" | "row" | "column";
  /** Heads that a stroke paints. */
  type Scope = "all" | "one";

  // ---- rooms
  type HostAct = "ask" | "close" | "discuss" | "again" | "tallies" | "answer" | "second" | "idle" | "gather" | "code" | "keys";
  /** A question and its votes. */
  type Counted = RoomAsked & { tallies: number[][]; right?: number }; // index of the correct option; −1 if unknown
}

export {};
