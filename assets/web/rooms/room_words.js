// What a phone says in a room, in two languages. The pictures and questions are the host's.

import { keep, kept } from "../base/kept.js";
import { LOST } from "../wire/answered.js";

const ENGLISH = {
  title: "Join a room",
  code: "Code",
  join: "join",
  kept: "No name, no account, no cookie: this tab alone keeps the number that lets you vote once.",
  gone: "The room with its votes and sentences is deleted when its host says so, or 90 minutes after the last act.",
  sentences: "If you send a sentence of your own, the class may read it, without knowing whose it is.",
  privacy: "What is kept, in full",
  other: "Deutsch",
  alone: "go on alone",
  back: "follow again",
  asked: "there is a question: vote",
  elsewhere: "This is shown in front: it has no picture for a phone.",
  opens: "open it here",
  vote: "Choose; you may change your mind until the vote is closed.",
  point: "Tap the cell of the map that you mean; you may change your mind until the vote is closed.",
  closed: "The vote is closed.",
  discuss: "Talk to your neighbour: who is right, and why? Then you vote again.",
  own: "Your sentence",
  send: "send it",
  sent: "It is in; another one takes its place.",
  leave: "leave",
  lost: LOST,
};

/** @type {typeof ENGLISH} */
const GERMAN = {
  title: "In einen Raum gehen",
  code: "Code",
  join: "hinein",
  kept: "Kein Name, kein Konto, kein Cookie: nur dieser Tab behält die Nummer, mit der du einmal abstimmst.",
  gone: "Der Raum mit Stimmen und Sätzen wird gelöscht, wenn die Lehrkraft es sagt, oder 90 Minuten nach dem letzten Schritt.",
  sentences: "Wenn du einen eigenen Satz schickst, kann die Klasse ihn lesen, ohne zu wissen, von wem er ist.",
  privacy: "Was genau gespeichert wird",
  other: "English",
  alone: "allein weiter",
  back: "wieder folgen",
  asked: "es gibt eine Frage: abstimmen",
  elsewhere: "Das wird vorn gezeigt; für ein Handy gibt es kein Bild davon.",
  opens: "hier öffnen",
  vote: "Wähle; bis zum Ende der Abstimmung kannst du dich umentscheiden.",
  point: "Tippe auf die Zelle der Karte, die du meinst; bis zum Ende kannst du dich umentscheiden.",
  closed: "Die Abstimmung ist zu Ende.",
  discuss: "Sprich mit deinem Nachbarn: Wer hat recht, und warum? Danach stimmt ihr noch einmal ab.",
  own: "Dein Satz",
  send: "abschicken",
  sent: "Er ist da; ein neuer tritt an seine Stelle.",
  leave: "verlassen",
  lost: "Der Server ist nicht zu erreichen; es wird wieder versucht.",
};

const KEY = "headlight-language"; // of this tab

const isGerman = () => (kept("sessionStorage", KEY) ?? navigator.language.slice(0, 2)) === "de";

export const language = () => (isGerman() ? "de" : "en");

export const words = () => (isGerman() ? GERMAN : ENGLISH);

export const switchLanguage = () => keep("sessionStorage", KEY, isGerman() ? "en" : "de");
