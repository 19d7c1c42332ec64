package objects_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	_ "github.com/265d0351/work/embedded" // memory://
	"github.com/265d0351/work/objects"
)

type priceList map[string]int

func open(namespace string, options objects.Options) *objects.Store {
	options.Namespace = namespace
	store, err := objects.Open("memory://objects-examples", options)
	if err != nil {
		log.Fatal(err)
	}
	return store
}

func ExampleShare() {
	ctx, store := context.Background(), open("share", objects.Options{})
	defer store.Close() // nothing was left to send

	prices, err := objects.Share(ctx, store, priceList{"tea": 3, "jam": 2})
	if err != nil {
		log.Fatal(err)
	}
	arg, err := json.Marshal(prices) // what the record of a job holds
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(arg))
	// Output: {"object":"96ff4c0d87c6aec9bfe196ad3ab6cf8f72b1eeeb9223768dcd8f7368defd108f","size":17}
}

func ExampleRef_Value() {
	ctx, store := context.Background(), open("value", objects.Options{})
	defer store.Close() // as above
	cache := objects.NewCache(store, 64<<20)
	defer cache.Close()

	shared, err := objects.Share(ctx, store, priceList{"tea": 3})
	if err != nil {
		log.Fatal(err)
	}
	handler := func(ctx context.Context, prices objects.Ref[priceList]) error {
		list, err := prices.Value(ctx)
		fmt.Println("tea is", list["tea"])
		return err
	}
	for range 3 { // three jobs, one download
		arg := shared
		arg.Bind(cache) // the framework does this
		if err := handler(ctx, arg); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("downloads:", cache.Statistics().Downloads)
	// Output:
	// tea is 3
	// tea is 3
	// tea is 3
	// downloads: 1
}

func ExampleStore_Put() {
	ctx, store := context.Background(), open("put", objects.Options{})
	defer store.Close() // as above

	hash, err := store.Put(ctx, []byte("abc"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hash)
	content, err := store.Get(ctx, hash)
	fmt.Println(string(content), err)
	// Output:
	// ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
	// abc <nil>
}

func ExampleStore_Collect() {
	ctx, store := context.Background(), open("collect", objects.Options{})
	defer store.Close() // as above

	hash, err := store.Put(ctx, []byte("prices"))
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Refer(ctx, hash, "a job that was never enqueued"); err != nil {
		log.Fatal(err)
	}
	did, err := store.Collect(ctx)
	fmt.Println("references:", did.References, "objects:", did.Objects, err) // it was used within the last hour
	sum, err := store.Statistics(ctx)
	fmt.Println("left:", sum.Count, "with", sum.Bytes, "bytes", err)
	// Output:
	// references: 1 objects: 0 <nil>
	// left: 1 with 6 bytes <nil>
}

func ExampleDirectory() {
	path, err := os.MkdirTemp("", "objects")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(path) }() // a temporary directory
	home, err := objects.Directory(path)
	if err != nil {
		log.Fatal(err)
	}
	ctx, store := context.Background(), open("directory", objects.Options{Home: home})
	defer store.Close() // as above

	hash, err := store.Put(ctx, []byte("abc"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(path + "/ba/" + string(hash))
	fmt.Println(err)
	// Output: <nil>
}
