package siltstone;

/** That a reader is not sure of what Spark would make of a text. It is met often, and says nothing: one is enough. */
final class Unsure extends Exception {
  static final Unsure UNSURE = new Unsure();

  private Unsure() {
    super(null, null, false, false);
  }
}
