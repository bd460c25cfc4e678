package siltstone;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** A function one of whose arguments is a plan, mostly the same literal as in the last call: it is made out once for all rows. */
abstract class Planned extends Scalar {
  private transient Made last;

  Planned(String name, DataType[] inputTypes, DataType resultType) {
    super(name, inputTypes, resultType);
  }

  /** What the plan says. */
  abstract Object madeOut(String plan);

  final Object madeOf(UTF8String plan) {
    Made now = last;
    if (now == null || (plan != now.plan && !plan.equals(now.plan))) {
      now = new Made(plan, madeOut(plan.toString()));
      last = now;
    }
    return now.said;
  }

  /** A plan and what it says, in one: whoever else asks the function at the same time sees both or neither. */
  private static final class Made {
    final UTF8String plan;
    final Object said;

    Made(UTF8String plan, Object said) {
      this.plan = plan;
      this.said = said;
    }
  }
}
