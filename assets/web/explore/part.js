// A part of Explore: it has no state of the picture of its own, and draws what is the view's.

export class Part {
  /** @param {Explore} view */
  constructor(view) {
    this.view = view;
  }
}
