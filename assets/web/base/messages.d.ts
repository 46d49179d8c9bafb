// Written by `python -m pages.kit.wire.declarations` of what makes the messages; do not edit.

export type Block = Record<string, any>; // of a sheet: pages/kit/draw/sheet.py
export interface Maps { digest: string; tokens: string[]; columns: string[] | null; ends: [number, number]; layers: number; heads: number; whole: number[]; thumbnail: number; } // mha_core/show/packing.py
export interface StandaloneRun { title: string; link: string; origin: string; changed: string; off: string[]; forbidden: string[]; layer: number; head: number; row: number; exact: [number, number][]; } // mha_core/show/html.py
export interface Turns { visit: string; heard: number; } // pages/kit/draw/view.py
export interface House { css: string; path: string; page: string; models: [string, string, string, string][]; devices: string[]; address: string; kinds: string[]; visit: string; machine: boolean; hub: boolean; } // pages/kit/draw/canvas.py
export interface SheetState { blocks: Block[]; } // pages/kit/draw/canvas.py
export interface Memory { pieces: number[]; places: [number, number][]; } // pages/kit/draw/packing.py
export interface CourseOption { letter: string; text: string; } // pages/kit/lessons/message.py
export interface Hidden { part: string; words: string[]; } // pages/kit/lessons/message.py
export interface CourseQuestion { path: string; query: string; picture: string; say: string; ask: string; options: CourseOption[]; curtain: Hidden[]; } // pages/kit/lessons/message.py
export interface CourseStep { path: string; query: string; picture: string; say: string; ask: string; options: CourseOption[]; curtain: Hidden[]; teacher: string; second: CourseQuestion | null; } // pages/kit/lessons/message.py
export interface CourseLesson { id: string; title: string; aim: string; breaks: string; minutes: number; now_you: string; teacher: string; papers: string[]; steps: CourseStep[]; } // pages/kit/lessons/message.py
export interface CourseMessage { lessons: CourseLesson[]; } // pages/kit/lessons/message.py
export interface StepVerdict { picked: string | null; numbers: [string, number, string][]; sentence: string; because: string; } // pages/kit/lessons/message.py
export interface HandoutMap { tokens: string[]; layer: number; head: number; row: number; label: string; forbidden: string[]; } // pages/kit/lessons/files.py
export interface HandoutAnswer { letter: string | null; sentence: string; because: string; numbers: [string, string][]; } // pages/kit/lessons/files.py
export interface HandoutStep { sentences: string[]; say: string; ask: string; options: [string, string][]; curtain: Hidden[]; address: string; code: string; answer: HandoutAnswer; maps: HandoutMap[]; } // pages/kit/lessons/files.py
export interface Handout { title: string; aim: string; breaks: string; minutes: number; now_you: string; papers: string[]; steps: HandoutStep[]; } // pages/kit/lessons/files.py
export interface PictureAnswer { digest: string; model: string; used: Record<string, string>; unusable: Record<string, string[]>; told: string[]; defaults: Record<string, string | string[]>; notices: string[]; presets: string[]; presetNames: string[]; positions: [string, string][]; fixed: Record<string, string>; groups: string[]; group: string; groupNames: string[]; layers: number; heads: number; layer: number; head: number; row: number; key: number | null; } // pages/kit/picture/link_query.py
export interface Figure { value: string; label: string; ask?: string; } // pages/kit/picture/words.py
export interface ChangeEffect { layers: number[]; at: [number, number, number, number] | null; moved: [number, number]; } // pages/explore/effect.py
export interface GoesOn { next: NextToken[]; drawn: NextToken | null; sampling: [number, number, string]; wordSaid: string; surprise: [number | null, number | null][] | null; found: Record<string, [number, number, number][]>; randomSaid: string | null; } // pages/explore/goes_on.py
export interface MaskedWord { text: string; row: number; } // pages/explore/masked_word.py
export interface ReadMap { rows: string[] | null; columns: string[] | null; rowOf: number[]; columnOf: number[]; said: string; sunk: number[]; } // pages/explore/reading.py
export interface SeenPatches { own: number; rows: number; columns: number; } // pages/explore/seen_picture.py
export interface EffectHere { layers: number[]; at: [number, number, number, number] | null; moved: [number, number]; here: number; } // pages/explore/message.py
export interface MapBefore { forbidden: string[]; distances: number[]; } // pages/explore/message.py
export interface PinnedMap { tokens: string[]; columns: string[] | null; ends: [number, number]; at: string; label: string; forbidden: string[]; } // pages/explore/message.py
export interface ExplorePicture { digest: string; model: string; used: Record<string, string>; unusable: Record<string, string[]>; told: string[]; defaults: Record<string, string | string[]>; notices: string[]; presets: string[]; presetNames: string[]; positions: [string, string][]; fixed: Record<string, string>; groups: string[]; group: string; groupNames: string[]; layers: number; heads: number; layer: number; head: number; row: number; key: number | null; next: NextToken[]; drawn: NextToken | null; sampling: [number, number, string]; wordSaid: string; surprise: [number | null, number | null][] | null; found: Record<string, [number, number, number][]>; randomSaid: string | null; compared: string; forbidden: string[]; look: string; mean: string | null; reading: ReadMap | null; values: number[] | null; columns: string; label: string; origin: string; places: Record<string, string>; typed: string; figures: Figure[]; status: string; kinds: [string, number][][]; effect: EffectHere | null; before: MapBefore | null; pieces: string[]; patches: SeenPatches | null; kv: number; pinTail: string; pin: PinnedMap | null; tile: number; } // pages/explore/message.py
export interface NextToken { label: string; text: string; chance: number; before: number | null; } // pages/kit/picture/next_token.py
export interface HeadMeasure { name: string; title: string; unit: string; says: string; rows: number; missing: string; } // pages/explore/heads_overview.py
export interface HeadsOverview { layers: number; heads: number; tokens: number; measures: HeadMeasure[]; names: [string, string, string][]; } // pages/explore/heads_overview.py
export interface FlowAnswer { norm: boolean; tokens: string[]; layers: number; row: number; lines: [number, number, number, number][]; path: number[]; said: string[]; left: string; assumes: string[]; noNorm: string | null; } // pages/explore/layer_flow.py
export interface UnderWay { underWay: [number, number]; } // pages/explore/long_message.py
export interface Tile { row: number; column: number; step: number; rows: number; columns: number; } // pages/explore/long_message.py
export interface ChannelsAnswer { layer: number; head: number; row: number; key: number; query: string; looked: string; strong: number[]; said: string[]; notes: string[]; } // pages/explore/pair_channels.py
export interface DrawnRule { name: string; line: string; rule: string; painted: string; cells: string; counted: string; why_not: string; } // pages/kit/picture/rules.py
export interface MaskNumber { key: string; name: string; label: string; value: number; ends: [number, number]; } // pages/masks/message.py
export interface Card { name: string; line: string; rule: string; painted: string; cells: string; counted: string; why_not: string; clicks: Record<string, Record<string, string> | null>; meaning: string; numbers: MaskNumber[]; } // pages/masks/message.py
export interface Masks { digest: string; model: string; used: Record<string, string>; unusable: Record<string, string[]>; told: string[]; defaults: Record<string, string | string[]>; notices: string[]; presets: string[]; presetNames: string[]; positions: [string, string][]; fixed: Record<string, string>; groups: string[]; group: string; groupNames: string[]; layers: number; heads: number; layer: number; head: number; row: number; key: number | null; tokens: string[]; columns: string[] | null; rule: string; painted: string; meaning: string; base: string; own: string; forbidden: string[]; forbiddenBefore: string[]; ruleKeys: string[]; most: number; longest: number; without: string; typed: string; label: string; look: string; cards: Card[]; sums: string; begins: Record<string, string>; } // pages/masks/message.py
export interface MaskOutcomes { mask: Block[]; padding: Block[]; pad: string; } // pages/masks/message.py
export interface TokenVectors { cosines: number[]; changes: number[]; shown: string[]; said: string; } // pages/compare/vectors.py
export interface CompareSide { tokens: string[]; columns: string[] | null; ends: [number, number]; title: string; story: string; repeated: number[]; label: string; fitness: string; forbidden: string[]; layer: number; head: number; layers: number; heads: number; fixed: Record<string, string>; positions: [string, string][]; } // pages/compare/message.py
export interface ComparePicture { digest: string; model: string; used: Record<string, string>; unusable: Record<string, string[]>; told: string[]; defaults: Record<string, string | string[]>; notices: string[]; presets: string[]; presetNames: string[]; positions: [string, string][]; fixed: Record<string, string>; groups: string[]; group: string; groupNames: string[]; layers: number; heads: number; layer: number; head: number; row: number; key: number | null; marked: [number, number]; sides: [CompareSide, CompareSide]; tokens: string[]; columns: string[] | null; fits: boolean; isOfTwo: boolean; look: string; mean: string; said: string; distances: number[]; differs: string[]; contrast: string; answers: Figure[]; next: NextToken[]; figures: Figure[]; vectors: TokenVectors; wordSaid: string; begins: Record<string, string | string[]>; tries: Record<string, Record<string, string | string[]>>; eachIsQuick: boolean; } // pages/compare/message.py
export interface ShuffledSide { title: string; label: string; why: string; } // pages/compare/orders.py
export interface Shuffled { order: string; sides: ShuffledSide[]; } // pages/compare/orders.py
export interface HeadCosines { cosines: number[][]; shown: string[][]; title: string; said: string; } // pages/compare/each_head.py
export interface TraceAxis { text: string; letter: string; size: number; } // pages/shapes/message.py
export interface TraceStep { name: string; expression: string; axes: TraceAxis[]; strides: number[]; contiguous: boolean; view: boolean; bytes: number; parents: number[]; source: number; marked: number[]; recorded: number; texts: [string, string][]; } // pages/shapes/message.py
export interface TraceSource { where: string; first: number; lines: string[]; records: number[]; } // pages/shapes/message.py
export interface TraceHeader { pieces: number[]; places: [number, number][]; digest: string; implementation: string; label: string; tokens: string[]; heads: number; dHead: number; steps: TraceStep[]; sources: TraceSource[]; } // pages/shapes/message.py
export interface StepsPicture { digest: string; model: string; used: Record<string, string>; unusable: Record<string, string[]>; told: string[]; defaults: Record<string, string | string[]>; notices: string[]; presets: string[]; presetNames: string[]; positions: [string, string][]; fixed: Record<string, string>; groups: string[]; group: string; groupNames: string[]; layers: number; heads: number; layer: number; head: number; row: number; key: number | null; implementations: string[]; biases: string[]; weights: string; cannot: Record<string, string>; step: string; cut: boolean; typed: string; lessons: Record<string, string>; label: string; } // pages/shapes/message.py
export interface ReshapeLesson { blocks: Block[]; source: string; wrote: string; } // pages/shapes/message.py
export interface FilmProbe { tokens: string[]; columns: string[] | null; steps: number[]; at: number; } // pages/train/film.py
export interface FilmHeader { name: string; colours: Record<string, string>; layers: number; heads: number; causal: boolean; over: boolean; probes: (FilmProbe | null)[]; } // pages/train/film.py
export interface FilmsHeader { steps: number; probes: string[]; films: FilmHeader[]; notes: string[]; } // pages/train/film.py
export interface FilmState { wanted: string; query: string; sought: number; step: number; } // pages/train/film.py
export interface EncodingTile { name: string; title: string; figure: string; told: string; note: string; learnt: boolean; } // pages/positions/map_view.py
export interface EncodingsState { place: string; tokens: string[]; tiles: EncodingTile[]; maps: string; chosen: string; asks: boolean; } // pages/positions/map_view.py
export interface RoomOpened { code: string; key: string; listen: string; } // pages/kit/rooms/messages.py
export interface RoomJoined { token: string; listen: string; } // pages/kit/rooms/messages.py
export interface RoomVersion { version: number; } // pages/kit/rooms/messages.py
export interface RoomTold { told: string; } // pages/kit/rooms/messages.py
export interface RoomAsked { id: string; kind: string; text: string; options: string[]; link: string; learn: string; size: [number, number] | null; second: boolean; } // pages/kit/rooms/messages.py
export interface RoomAnswer { right: number[]; text: string; } // pages/kit/rooms/messages.py
export interface RoomTally { voted: number; counts: number[]; dots: [number, number, number][]; } // pages/kit/rooms/messages.py
export interface RoomMine { choice: number | [number, number] | null; sentence: string; } // pages/kit/rooms/messages.py
export interface RoomState { code: string; version: number; phase: string; round: number; follows: boolean; link: string; question: RoomAsked | null; joined: number; voted: number; tallies: RoomTally[]; answer: RoomAnswer | null; locked: boolean; write: string; written: number; points: [number, number][]; is_host: boolean; mine: RoomMine; } // pages/kit/rooms/messages.py
export interface RoomSentence { number: number; text: string; value?: number; hidden: boolean; } // pages/kit/rooms/messages.py
export interface RoomSentences { sentences: RoomSentence[]; } // pages/kit/rooms/messages.py
